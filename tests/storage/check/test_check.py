"""`odradek storage check` finds every kind of damage, reports the place, and changes nothing."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from odradek.protocol.names.topics import METADATA_TOPIC
from odradek.protocol.records.builder import encode_batch
from odradek.protocol.records.record import Record
from odradek.storage.check.command import check
from odradek.storage.check.findings import CheckSeverity
from odradek.storage.check.partition_check import CheckTask, check_partition
from odradek.storage.files.checkpoints import RECOVERY_POINT_CHECKPOINT
from odradek.storage.files.files import Files
from odradek.storage.files.meta_properties import MetaProperties, write_meta_properties, write_partition_metadata
from support.data.log_directories import history_directory
from support.data.old_formats import unpack


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A log directory with segments, indexes, transactions and producers, stopped cleanly."""
    root = history_directory(tmp_path_factory.mktemp("sound"))
    write_meta_properties(Files(), root, MetaProperties("A" * 22, 1, bytes(range(16))))
    write_partition_metadata(Files(), root / "t-0", bytes(range(16)))
    return root


def files_of(root: Path) -> dict[Path, bytes]:
    return {path.relative_to(root): path.read_bytes() for path in sorted(root.rglob("*")) if path.is_file()}


def first(directory: Path, pattern: str, size: int = 1) -> Path:
    return next(path for path in sorted(directory.rglob(pattern)) if path.stat().st_size >= size)


def test_a_sound_directory_is_sound_and_stays_as_it_is(sound: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = files_of(sound)
    assert check([str(sound), "--deep"]) == 0
    assert "sound" in capsys.readouterr().out
    assert files_of(sound) == before


def flip(path: Path, position: int) -> str:
    data = bytearray(path.read_bytes())
    data[position] ^= 0x40
    path.write_bytes(data)
    return path.name


def cut(path: Path, by: int) -> str:
    path.write_bytes(path.read_bytes()[:-by])
    return path.name


def write(path: Path, text: str) -> str:
    path.write_text(text)
    return path.name


DAMAGES: dict[str, Callable[[Path], str]] = {
    "a record's bit": lambda root: flip(first(root, "*.log", 200), 150),
    "a batch's length": lambda root: flip(first(root, "*.log", 200), 9),
    "an offset index": lambda root: flip(first(root, "*.index", 16), 3),
    "an offset index that ends inside an entry": lambda root: cut(first(root, "*.index", 16), 3),
    "a time index": lambda root: flip(first(root, "*.timeindex", 12), 5),
    "a transaction index": lambda root: flip(first(root, "*.txnindex", 30), 1),
    "epochs": lambda root: write(first(root, "leader-epoch-checkpoint"), "0\n2\n5 7\n4 9\n"),
    "an epoch checkpoint that is none": lambda root: write(first(root, "leader-epoch-checkpoint"), "nonsense"),
    "partition.metadata": lambda root: write(first(root, "partition.metadata"), "version: 9"),
    "meta.properties": lambda root: write(root / "meta.properties", "version=7"),
    "a checkpoint of the root": lambda root: write(root / RECOVERY_POINT_CHECKPOINT, "0\n3\nt 0 1\n"),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_damage_is_found_and_named(
    damage: str, sound: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    root = tmp_path / "logs"
    shutil.copytree(sound, root)
    name = DAMAGES[damage](root)
    before = files_of(root)
    assert check([str(root), "--json"]) == 1
    *problems, summary = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert summary["errors"] == len([problem for problem in problems if problem["severity"] == "error"]) > 0
    assert any(problem["file"].endswith(name) and problem["severity"] == "error" for problem in problems), problems
    assert files_of(root) == before


def test_a_lost_end_is_found_by_the_checkpoint(sound: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    root = tmp_path / "logs"
    shutil.copytree(sound, root)
    third_last = sorted((root / "t-0").glob("*.log"))[-3].name
    for path in (root / "t-0").glob("0*"):
        if path.name >= third_last.removesuffix(".log"):
            path.unlink()
    assert check([str(root)]) == 1
    assert "records were lost" in capsys.readouterr().out


def test_a_torn_end_is_worth_a_note_after_a_kill_and_an_error_after_a_clean_stop(sound: Path, tmp_path: Path) -> None:
    root = tmp_path / "logs"
    shutil.copytree(sound, root)
    last = sorted(first(root, "partition.metadata").parent.glob("*.log"))[-1]
    with last.open("ab") as log:
        log.write(bytes(8) + (500).to_bytes(4, "big") + bytes(4) + b"\2" + bytes(60))
    (root / ".kafka_cleanshutdown").write_text('{"version":0,"brokerEpoch":1}')
    assert check([str(root)]) == 1
    (root / ".kafka_cleanshutdown").unlink()
    assert check([str(root)]) == 0


def test_undecodable_metadata_at_the_end_is_an_error_also_after_a_kill(tmp_path: Path) -> None:
    """The batch is whole. Its record ends inside a string, so its finding reads like that of a torn batch."""
    directory = tmp_path / f"{METADATA_TOPIC}-0"
    directory.mkdir()
    write_partition_metadata(Files(), directory, bytes(16))
    topic_record = b"\x01\x02\x00\x40abc"
    (directory / f"{0:020}.log").write_bytes(encode_batch([Record(0, 1_700_000_000_000, None, topic_record, [])]))
    task = CheckTask(directory, METADATA_TOPIC, is_clean=False, is_running=False, is_deep=False)
    [problem] = [one for one in check_partition(task).problems if one.file.endswith(".log")]
    assert problem.severity is CheckSeverity.ERROR
    assert "only 3 are left" in problem.what


def test_what_is_no_directory_is_wrong_usage(tmp_path: Path) -> None:
    assert check([str(tmp_path / "nowhere")]) == 2


def test_files_that_recovery_set_aside_are_counted(
    sound: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    root = Path(shutil.copytree(sound, tmp_path / "root"))
    log = first(root, "*.log", 200)
    for number in range(2):
        shutil.copy(log, log.with_name(f"{log.name}.removed-{1_700_000_000_000 + number}"))
    assert check([str(root)]) == 0
    assert "2 files keep what recovery took out of logs" in capsys.readouterr().out
    assert check([str(root), "--json"]) == 0
    assert json.loads(capsys.readouterr().out.splitlines()[-1])["setAside"] == 2


@pytest.mark.parametrize("is_clean", [True, False])
def test_message_formats_0_and_1_are_sound_and_damage_in_them_is_found(
    tmp_path: Path, is_clean: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    root = unpack(tmp_path / "logs")
    write_meta_properties(Files(), root, MetaProperties("A" * 22, 1, bytes(range(16))))  # ZooKeeper's is refused
    if not is_clean:
        (root / ".kafka_cleanshutdown").unlink(missing_ok=True)
    before = files_of(root)
    assert check([str(root), "--deep"]) == 0
    assert files_of(root) == before
    for topic in ("f0-none-create", "f1-lz4-append", "mixed-down"):
        name = flip(first(root / f"{topic}-0", "*.log", 200), 150)
        capsys.readouterr()
        assert check([str(root), "--deep"]) == 1
        assert f"{topic}-0/{name}" in capsys.readouterr().out
