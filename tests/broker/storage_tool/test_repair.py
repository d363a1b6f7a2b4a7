"""`odradek storage repair` repairs damage as a start does. A dry run reports the same and changes nothing."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from confluent_kafka.admin import AdminClient, NewTopic  # type: ignore[attr-defined]

from odradek.broker.storage_tool.repair import repair
from odradek.storage.check.command import check
from odradek.storage.files.files import Files
from odradek.storage.files.meta_properties import MetaProperties, write_meta_properties, write_partition_metadata
from support.brokers.our_broker import OurBroker
from support.data.log_directories import history_directory


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = history_directory(tmp_path_factory.mktemp("sound"), steps=120)
    write_meta_properties(Files(), root, MetaProperties("A" * 22, 1, bytes(range(16))))
    write_partition_metadata(Files(), root / "t-0", bytes(range(16)))
    return root


def files_of(root: Path) -> dict[str, bytes]:
    return {str(path.relative_to(root)): path.read_bytes() for path in sorted(root.rglob("*")) if path.is_file()}


def last_log(root: Path) -> Path:
    return [path for path in sorted((root / "t-0").glob("*.log")) if path.stat().st_size][-1]


def break_index(root: Path) -> str:
    path = next(path for path in sorted((root / "t-0").glob("*.index")) if path.stat().st_size >= 16)
    path.write_bytes(b"\x7f" * path.stat().st_size)
    return f"{path}: damaged; rebuilding it from the log"


def break_time_index(root: Path) -> str:
    path = next(path for path in sorted((root / "t-0").glob("*.timeindex")) if path.stat().st_size >= 12)
    path.write_bytes(path.read_bytes()[:-5])
    return f"{path}: damaged; rebuilding it from the log"


def break_snapshot(root: Path) -> str:
    path = sorted((root / "t-0").glob("*.snapshot"))[0]
    path.write_bytes(path.read_bytes()[:-1] + b"?")
    return f"{path}: damaged; rebuilding it from the log"


def break_epochs(root: Path) -> str:
    (root / "t-0" / "leader-epoch-checkpoint").write_text("nonsense")
    return "rebuilding it from the log"


def tear_the_end(root: Path) -> str:
    for name in (".kafka_cleanshutdown", "recovery-point-offset-checkpoint"):
        (root / name).unlink()
    path = last_log(root)
    with path.open("ab") as log:
        log.write(bytes(70))
    return "removing the last"


def leave_a_compaction_half_done(root: Path) -> str:
    (root / "t-0" / f"{0:020d}.log.cleaned").write_bytes(b"half")
    return f"would remove {root / 't-0' / f'{0:020d}.log.cleaned'}"


DAMAGES: dict[str, Callable[[Path], str]] = {
    "an offset index": break_index,
    "a time index": break_time_index,
    "a producer snapshot": break_snapshot,
    "leader epochs": break_epochs,
    "a torn end": tear_the_end,
    "a half written compaction": leave_a_compaction_half_done,
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_dry_run_says_what_a_repair_does(
    damage: str, sound: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    root = tmp_path / "logs"
    shutil.copytree(sound, root)
    expected = DAMAGES[damage](root)
    before = files_of(root)
    assert repair([str(root), "--dry-run"]) == 0
    said = capsys.readouterr().out
    assert expected in said
    assert "nothing was changed" in said
    assert files_of(root) == before
    assert repair([str(root)]) == 0
    changed = {name for name, data in files_of(root).items() if before.get(name) != data} | (
        before.keys() - files_of(root)
    )
    in_partitions = {name for name in changed if name.startswith("t-0/")}
    assert in_partitions
    assert all(any(name in line for line in said.splitlines()) for name in in_partitions), in_partitions
    capsys.readouterr()
    assert check([str(root), "--json"]) == 0, capsys.readouterr().out
    assert repair([str(root), "--dry-run"]) == 0
    assert "nothing to repair" in capsys.readouterr().out


def test_what_every_start_writes_is_no_repair_however_the_directory_is_named(
    sound: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(sound, tmp_path / "logs")
    assert repair([str(tmp_path / "logs")]) == 0
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    capsys.readouterr()
    for name in ("../logs", str(tmp_path / "elsewhere" / ".." / "logs")):
        assert repair([name, "--dry-run"]) == 0
        assert capsys.readouterr().out == "nothing to repair\n"


def create_topic(servers: str, name: str) -> None:
    admin = AdminClient({"bootstrap.servers": servers})
    for future in admin.create_topics([NewTopic(name, 1)]).values():
        future.result(60)


def test_a_directory_that_a_broker_stopped_cleanly_has_nothing_to_repair(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with OurBroker(tmp_path) as broker:
        create_topic(broker.bootstrap_servers, "t")  # its partition has an epoch and no record
        assert broker.stop() == 0
        broker.start()
        create_topic(broker.bootstrap_servers, "u")
        assert broker.stop() == 0
        capsys.readouterr()
        assert repair([str(broker.log_dir), "--dry-run"]) == 0
        assert capsys.readouterr().out == "nothing to repair\n"


def test_damage_among_synced_records_is_left_alone_unless_asked_for(
    sound: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A cut there would lose all later records, so a start does not check it, and a dry run reports the loss."""
    root = tmp_path / "logs"
    shutil.copytree(sound, root)
    path = next(path for path in sorted((root / "t-0").glob("*.log")) if path.stat().st_size > 300)
    data = bytearray(path.read_bytes())
    data[200] ^= 1
    path.write_bytes(data)
    before = files_of(root)
    assert repair([str(root), "--dry-run"]) == 0
    assert "removing the last" not in capsys.readouterr().out
    assert repair([str(root), "--dry-run", "--from-start"]) == 0
    said = capsys.readouterr().out
    assert f"{path}: damaged at byte" in said
    assert "because it follows a damaged segment" in said
    assert files_of(root) == before
    assert repair([str(root), "--from-start"]) == 0
    capsys.readouterr()
    assert check([str(root), "--json"]) == 0
    assert json.loads(capsys.readouterr().out.splitlines()[-1])["errors"] == 0


def test_a_directory_that_is_none_is_refused(tmp_path: Path) -> None:
    assert repair([str(tmp_path)]) == 1
    assert list(tmp_path.iterdir()) == []
