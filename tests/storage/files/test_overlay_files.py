"""Changes that stay in memory are visible as on a disk, and the disk is unchanged."""

import os
import random
import shutil
from pathlib import Path

import pytest

from odradek.storage.files.files import CREATE, EXISTING, Files
from odradek.storage.files.overlay_files import OverlayFiles

SEEDS = range(40)
STEPS = 60


def tree(root: Path) -> dict[str, bytes | None]:
    """Every name below a directory on the disk; the bytes of files."""
    paths = sorted(root.rglob("*"))
    return {str(path.relative_to(root)): path.read_bytes() if path.is_file() else None for path in paths}


def seen(files: Files, root: Path, below: str = "") -> dict[str, bytes | None]:
    """The same, read through a file layer."""
    found: dict[str, bytes | None] = {}
    for entry in files.list(root / below):
        name = os.path.join(below, entry.name)
        if entry.is_dir():
            found |= {name: None, **seen(files, root, name)}
        else:
            found[name] = files.read_file(root / name)
            assert entry.stat().st_size == len(found[name] or b"")
            assert files.exists(root / name)
    return found


def make(root: Path, chance: random.Random) -> None:
    for directory in ("a", "b"):
        (root / directory).mkdir(parents=True)
        for name in ("1", "2", "3"):
            (root / directory / name).write_bytes(chance.randbytes(chance.randrange(50)))


class Both:
    """The same operations on the disk and through an overlay, with open files kept."""

    def __init__(self, disk: Path, below: Path) -> None:
        self.sides: list[tuple[Files, Path]] = [(Files(), disk), (OverlayFiles(), below)]
        self.open: list[tuple[int, int]] = []

    def each(self, operation: str, *arguments: object) -> None:
        outcomes: list[int | None] = []
        for files, root in self.sides:
            placed = [root / argument if isinstance(argument, str) else argument for argument in arguments]
            try:
                outcomes.append(getattr(files, operation)(*placed) is None)
            except OSError as error:
                outcomes.append(error.errno)
        assert outcomes[0] == outcomes[1], (operation, arguments, outcomes)

    def step(self, chance: random.Random) -> None:
        name = f"{chance.choice('abc')}/{chance.choice('1234')}"
        match chance.randrange(9):
            case 0:
                self.each("remove", name)
            case 1:
                self.each("rename", name, f"{chance.choice('abc')}/{chance.choice('1234')}")
            case 2:
                self.each("write_file", name, chance.randbytes(chance.randrange(50)))
            case 3:
                self.each("make_directory", chance.choice("abc"))
            case 4:
                self.each("remove_directory", chance.choice("abc"))
            case 5 if not self.open:
                source, target = chance.sample("abcd", 2)
                if not self.sides[0][0].exists(self.sides[0][1] / target):
                    self.each("rename", source, target)
            case 6:
                if all(files.exists((root / name).parent) for files, root in self.sides):
                    flags = (
                        CREATE
                        if chance.randrange(2) or not self.sides[0][0].exists(self.sides[0][1] / name)
                        else EXISTING
                    )
                    first, second = (files.open(root / name, flags) for files, root in self.sides)
                    self.open.append((first, second))
            case 7 if self.open:
                pair = chance.choice(self.open)
                data, position = chance.randbytes(chance.randrange(1, 20)), chance.randrange(40)
                for (files, _), descriptor in zip(self.sides, pair, strict=True):
                    files.write_all(descriptor, [data], position)
            case 8 if self.open:
                pair, size = chance.choice(self.open), chance.randrange(60)
                for (files, _), descriptor in zip(self.sides, pair, strict=True):
                    files.truncate(descriptor, size)
        for pair in self.open:
            (files, _), (overlay, _) = self.sides
            size = files.size(pair[0])
            assert overlay.size(pair[1]) == size
            assert overlay.read(pair[1], 100, 3) == files.read(pair[0], 100, 3)

    def close(self) -> None:
        for pair in self.open:
            for (files, _), descriptor in zip(self.sides, pair, strict=True):
                files.close(descriptor)


@pytest.mark.parametrize("seed", SEEDS)
def test_an_overlay_shows_what_a_disk_would_have(seed: int, tmp_path: Path) -> None:
    chance = random.Random(seed)
    below, disk = tmp_path / "below", tmp_path / "disk"
    make(below, chance)
    shutil.copytree(below, disk)
    before = tree(below)
    both = Both(disk, below)
    for _ in range(STEPS):
        both.step(chance)
    both.close()
    overlay = both.sides[1][0]
    assert isinstance(overlay, OverlayFiles)
    assert seen(overlay, below) == tree(disk)
    assert tree(below) == before, "the disk was changed"
    # The reported changes are the actual ones.
    after = tree(disk)
    named = {str(change.path.relative_to(below)) for change in overlay.changes()}
    differing = {name for name in before.keys() | after.keys() if before.get(name, b"?") != after.get(name, b"?")}
    gone_with_their_directory = {name for name in differing if name not in after and os.path.dirname(name) not in after}
    assert differing - gone_with_their_directory <= named


def test_a_file_that_nobody_changed_is_the_real_one(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_bytes(b"0123456789")
    files = OverlayFiles()
    descriptor = files.open(path)
    files.truncate(descriptor, 4)
    assert os.fstat(descriptor).st_ino == path.stat().st_ino
    assert files.read(descriptor, 100, 2) == b"23"
    files.write_all(descriptor, [b"xy"], 4)
    assert os.fstat(descriptor).st_ino != path.stat().st_ino
    assert os.pread(descriptor, 100, 0) == b"0123xy", "sendfile takes it by its number"
    files.close(descriptor)
    assert path.read_bytes() == b"0123456789"
    assert [(change.kind, change.path) for change in files.changes()] == [("rewrite", path)]


def test_writing_the_same_bytes_again_is_no_change(tmp_path: Path) -> None:
    path = tmp_path / "index"
    path.write_bytes(b"0123456789")
    files = OverlayFiles()
    files.write_file(path, b"0123456789")
    assert list(files.changes()) == []
