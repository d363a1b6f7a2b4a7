"""Random damage of one partition's files: bits, bytes, blocks, files, names, copies. A seed determines it."""

import random
import shutil
from collections.abc import Callable
from pathlib import Path

BLOCK = 512
Damage = Callable[[random.Random, Path, Path], str]
"""Damages a file, given the directory of an older copy. Returns what it did."""


def _data(path: Path) -> bytearray:
    return bytearray(path.read_bytes())


def a_bit(chance: random.Random, path: Path, _: Path) -> str:
    data = _data(path)
    position, bit = chance.randrange(len(data)), chance.randrange(8)
    data[position] ^= 1 << bit
    path.write_bytes(data)
    return f"bit {bit} of byte {position}"


def a_byte(chance: random.Random, path: Path, _: Path) -> str:
    data = _data(path)
    position, value = chance.randrange(len(data)), chance.choice((0, 1, 127, 128, 255, chance.randrange(256)))
    data[position] = value
    path.write_bytes(data)
    return f"byte {position} is {value}"


def a_block(chance: random.Random, path: Path, _: Path) -> str:
    """A block of zeros, of chance, or of another place in the file."""
    data = _data(path)
    start = chance.randrange(len(data))
    size = min(chance.choice((8, 64, BLOCK)), len(data) - start)
    kind = chance.choice(("zeros", "chance", "another place"))
    other = chance.randrange(max(len(data) - size, 0) + 1)
    new = {"zeros": bytes(size), "chance": chance.randbytes(size), "another place": bytes(data[other : other + size])}
    data[start : start + size] = new[kind]
    path.write_bytes(data)
    return f"{size} bytes from {start} on are of {kind}"


def an_end(chance: random.Random, path: Path, _: Path) -> str:
    """The end is lost, or more comes after it."""
    data = _data(path)
    if chance.random() < 0.7:
        size = chance.randrange(len(data))
        path.write_bytes(data[:size])
        return f"cut to {size} bytes"
    more = chance.choice((bytes(100), chance.randbytes(100), bytes(data[-100:])))
    path.write_bytes(data + more)
    return f"{len(more)} bytes more"


def no_file(_: random.Random, path: Path, __: Path) -> str:
    path.unlink()
    return "removed"


def a_piece_twice(chance: random.Random, path: Path, _: Path) -> str:
    """A piece is removed or stands twice."""
    data = _data(path)
    start, end = sorted(chance.sample(range(len(data) + 1), 2))
    if chance.random() < 0.5:
        path.write_bytes(data[:start] + data[end:])
        return f"bytes {start} to {end} removed"
    path.write_bytes(data[:end] + data[start:])
    return f"bytes {start} to {end} twice"


def another_name(chance: random.Random, path: Path, _: Path) -> str:
    """The base offset in its name, or its suffix."""
    stem, suffix = path.name.split(".", 1) if "." in path.name else (path.name, "")
    if stem.isdigit() and chance.random() < 0.7:
        name = f"{max(int(stem) + chance.choice((-3, -1, 1, 2, 1000)), 0):020d}.{suffix}"
    else:
        name = path.name + chance.choice((".deleted", ".swap", ".cleaned", ".bak"))
    if path.with_name(name).exists():
        return "nothing"
    path.rename(path.with_name(name))
    return f"renamed to {name}"


def exchanged(chance: random.Random, path: Path, _: Path) -> str:
    """With another file of its kind."""
    others = [other for other in sorted(path.parent.glob(f"*{path.suffix}")) if other != path and path.suffix]
    if not others:
        return "nothing"
    other = chance.choice(others)
    mine, theirs = path.read_bytes(), other.read_bytes()
    path.write_bytes(theirs)
    if chance.random() < 0.5:
        other.write_bytes(mine)
        return f"exchanged with {other.name}"
    return f"has the bytes of {other.name}"


def an_older_copy(_: random.Random, path: Path, older: Path) -> str:
    if not (older / path.name).exists():
        return "nothing"
    shutil.copyfile(older / path.name, path)
    return "an older copy"


DAMAGES: dict[Damage, int] = {
    a_bit: 6,
    a_byte: 4,
    a_block: 4,
    an_end: 3,
    no_file: 2,
    a_piece_twice: 2,
    another_name: 2,
    exchanged: 2,
    an_older_copy: 2,
}
"""With their weights."""


def damage(chance: random.Random, partition: Path, older: Path) -> str:
    """Damages one file of a partition. Half of the time it is a log. Returns what was done."""
    files = sorted(path for path in partition.iterdir() if path.is_file() and path.stat().st_size)
    logs = [path for path in files if path.suffix == ".log"]
    path = chance.choice(logs if chance.random() < 0.5 else files)
    [kind] = chance.choices(list(DAMAGES), list(DAMAGES.values()))
    return f"{path.name}: {kind.__name__}: {kind(chance, path, older)}"
