"""The files of the metadata log: removed snapshots and segments, reported damage, directories in every state."""

import asyncio
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from odradek.broker.config.server_config import ServerConfig
from odradek.broker.metadata.image.image import ResourceType
from odradek.broker.metadata.log.log_reader import NO_OP, MetadataLogError
from odradek.broker.metadata.log.metadata_log import MAX_BATCH_BYTES
from odradek.broker.metadata.publisher.published import MAX_RECORDS_TO_LOAD
from odradek.broker.metadata.publisher.service import MetadataService
from odradek.broker.metadata.publisher.snapshot_generator import SnapshotGenerator
from odradek.broker.server.broker_server import BrokerServer
from odradek.broker.timers.loop_timers import LoopTimers
from odradek.protocol.messages.metadata_records import ConfigRecord
from odradek.protocol.records.batch import iterate_headers, stamp
from odradek.protocol.records.builder import encode_batch
from odradek.protocol.records.record import Record
from odradek.storage.errors import StorageError
from odradek.storage.log.log_appender import LogAppender
from support.brokers.metadata_service import NOW_MS, open_service

METADATA = "__cluster_metadata-0"
TINY = "internal.metadata.log.segment.bytes=2000"
DAY_MS = 86_400_000


def configure(service: MetadataService, count: int, now_ms: int = NOW_MS) -> None:
    """Appends ``count`` records, each as its own batch."""
    for number in range(count):
        service.commit([ConfigRecord(ResourceType.GROUP, "g", "k", str(number))], now_ms)


def names(directory: Path, suffix: str) -> list[str]:
    return sorted(path.name for path in (directory / METADATA).iterdir() if path.name.endswith(suffix))


# Snapshots are written and removed ---------------------------------------------


def test_size_takes_all_but_the_latest_snapshot_and_the_segments_before_it(tmp_path: Path) -> None:
    with open_service(tmp_path, TINY, "metadata.max.retention.bytes=1") as service:
        for _ in range(3):
            configure(service, 60)
            service.write_snapshot(NOW_MS)
        latest = service.log.snapshot_ids[-1]
        assert service.log.snapshot_ids == [latest]
        assert names(tmp_path, ".checkpoint") == [latest.file_name]
        assert len(names(tmp_path, ".checkpoint.deleted")) == 3
        assert service.log.log_start_offset == latest.end_offset
        assert len(names(tmp_path, ".log")) == 1
        service.log.clean(NOW_MS + 59_999)
        assert len(names(tmp_path, ".checkpoint.deleted")) == 3
        service.log.clean(NOW_MS + 60_000)
        assert not names(tmp_path, ".checkpoint.deleted")
    with open_service(tmp_path, TINY) as service:
        assert service.image.config_of(ResourceType.GROUP, "g") == {"k": "59"}
        assert service.log.kraft_version == 1, "the voter has moved along"


def test_age_takes_snapshots_whose_last_record_is_old(tmp_path: Path) -> None:
    with open_service(tmp_path, TINY) as service:
        for day in range(10):
            configure(service, 20, NOW_MS + day * DAY_MS)
            service.write_snapshot(NOW_MS + day * DAY_MS)
        ends = [one.end_offset for one in service.log.snapshot_ids]
        assert len(ends) == 8, "what is seven days old stays, by metadata.max.retention.ms"
        assert service.log.log_start_offset == ends[0]
        first_segments = [int(name[:20]) for name in names(tmp_path, ".log")]
        assert first_segments[0] <= ends[0] < first_segments[1]


def test_no_limit_keeps_everything(tmp_path: Path) -> None:
    keep = ("metadata.max.retention.bytes=-1", "metadata.max.retention.ms=-1")
    with open_service(tmp_path, TINY, *keep) as service:
        for _ in range(4):
            configure(service, 30)
            service.write_snapshot(NOW_MS + 400 * DAY_MS)
        assert len(service.log.snapshot_ids) == 5
        assert service.log.log_start_offset == 0


def test_snapshot_of_the_same_offset_is_not_written_twice(tmp_path: Path) -> None:
    with open_service(tmp_path) as service:
        service.write_snapshot(NOW_MS)
        assert service.begin_snapshot(NOW_MS) is None
        assert len(service.log.snapshot_ids) == 2


def test_snapshot_is_due_by_bytes_and_by_time(tmp_path: Path) -> None:
    bytes_key = "metadata.log.max.record.bytes.between.snapshots=3000"
    with open_service(tmp_path, bytes_key, "metadata.log.max.snapshot.interval.ms=5000") as service:
        assert service.snapshot_reason(NOW_MS + 4999) is None
        assert "5000 ms" in (service.snapshot_reason(NOW_MS + 5000) or "")
        configure(service, 40)
        assert "bytes" in (service.snapshot_reason(NOW_MS) or "")
        service.write_snapshot(NOW_MS)
        assert service.snapshot_reason(NOW_MS + 5000) is None, "nothing has changed since"
        configure(service, 1)
        assert service.snapshot_reason(NOW_MS + 4999) is None
        assert service.snapshot_reason(NOW_MS + 5000) is not None
    with open_service(tmp_path, bytes_key, "metadata.log.max.snapshot.interval.ms=0") as service:
        assert service.snapshot_reason(NOW_MS + 5000 * DAY_MS) is None


def test_snapshot_is_due_where_a_kafka_has_left_many_no_ops(tmp_path: Path) -> None:
    with open_service(tmp_path) as service:
        end_offset = service.log.log_end_offset + 2  # the snapshot that the stop writes
    size = 1_000
    batch = encode_batch([Record(number, NOW_MS, None, NO_OP, []) for number in range(size)])
    with (tmp_path / METADATA / "00000000000000000000.log").open("ab") as file:
        for number in range(MAX_RECORDS_TO_LOAD // size + 1):
            data = bytearray(batch)
            stamp(data, 0, end_offset + size * number, 1)
            file.write(data)
    with open_service(tmp_path) as service:
        assert "a start would read" in (service.snapshot_reason(NOW_MS) or "")
        service.write_snapshot(NOW_MS)
        assert service.snapshot_reason(NOW_MS) is None


def test_start_removes_what_is_half_done(tmp_path: Path) -> None:
    with open_service(tmp_path) as service:
        configure(service, 5)
        service.write_snapshot(NOW_MS)
        kept = [one.file_name for one in service.log.snapshot_ids]
    for name in (
        "00000000000000000003-0000000001-123456789.checkpoint.part",
        "00000000000000000002-0000000001.checkpoint.deleted",
    ):
        (tmp_path / METADATA / name).write_bytes(b"half")
    with open_service(tmp_path):
        assert names(tmp_path, ".checkpoint") == kept
        assert not names(tmp_path, ".part")
        assert not names(tmp_path, ".checkpoint.deleted")


# While the broker runs ----------------------------------------------------------


def generate(
    service: MetadataService, work: Callable[[SnapshotGenerator], Any], *, is_finished_early: bool = False
) -> None:
    """Writes snapshots on an event loop while ``work`` runs."""

    async def run() -> None:
        timers = LoopTimers(asyncio.get_running_loop())
        generator = SnapshotGenerator(service, timers, lambda: NOW_MS)
        generator.start()
        work(generator)
        if not is_finished_early:
            await generator.idle()
        await generator.stop()
        timers.close()

    asyncio.run(run())


def test_snapshot_is_written_while_the_broker_runs(tmp_path: Path) -> None:
    with open_service(tmp_path, "metadata.log.max.record.bytes.between.snapshots=4000") as service:
        generate(service, lambda generator: configure(service, 50))
        assert len(service.log.snapshot_ids) == 2
        assert 0 < service.log.bytes_since_snapshot < 4000, "what was committed while it was encoded is behind it"
        configured = dict(service.image.configs)
    with open_service(tmp_path) as service:
        assert service.image.configs == configured


def test_snapshot_says_what_was_there_when_it_began(tmp_path: Path) -> None:
    with open_service(tmp_path, "metadata.log.max.record.bytes.between.snapshots=1") as service:

        def change_meanwhile(generator: SnapshotGenerator) -> None:
            assert generator.is_writing, "the start alone has written more than one byte"
            configure(service, 3)

        generate(service, change_meanwhile)
        first = service.log.snapshot_ids[1]
        assert first.end_offset <= service.log.log_end_offset - 3
        assert service.image.config_of(ResourceType.GROUP, "g") == {"k": "2"}
    with open_service(tmp_path) as service:
        assert service.image.config_of(ResourceType.GROUP, "g") == {"k": "2"}


def test_broker_writes_snapshots(tmp_path: Path) -> None:
    async def run() -> None:
        keys = [
            "node.id=1",
            "listeners=PLAINTEXT://127.0.0.1:0",
            "offsets.topic.num.partitions=1",
            f"log.dirs={tmp_path}",
        ]
        server = BrokerServer(
            ServerConfig.load(None, [*keys, "metadata.log.max.record.bytes.between.snapshots=3000"], {})
        )
        await server.start()
        metadata = server.broker.own_metadata
        configure(metadata, 60)
        await server.running.snapshots.idle()
        assert metadata.log.snapshot_ids[-1].end_offset > 30
        await server.stop()

    asyncio.run(run())
    with open_service(tmp_path) as service:
        assert service.image.config_of(ResourceType.GROUP, "g") == {"k": "59"}


def test_stop_gives_up_a_snapshot_that_is_only_encoded(tmp_path: Path) -> None:
    with open_service(tmp_path, "metadata.log.max.record.bytes.between.snapshots=1") as service:
        generate(service, lambda generator: None, is_finished_early=True)
        assert len(service.log.snapshot_ids) == 1
        assert not names(tmp_path, ".part")


def test_disk_that_refuses_a_snapshot_is_asked_again_a_minute_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with open_service(tmp_path, "metadata.log.max.record.bytes.between.snapshots=1") as service:
        asked = []

        def refuse(*_: object) -> None:
            asked.append(1)
            raise OSError(28, "No space left on device")

        monkeypatch.setattr(service.log, "write_snapshot", refuse)
        generate(service, lambda generator: None)
        assert len(asked) == 1
        generate(service, lambda generator: configure(service, 3))
        assert len(asked) == 2, "not with every change"


def test_records_that_need_several_batches_are_written_all_or_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    value = "v" * 32_000
    count = 4 * MAX_BATCH_BYTES // len(value)
    records = [ConfigRecord(ResourceType.GROUP, "g", f"key-{number}", value) for number in range(count)]
    with open_service(tmp_path) as service:
        log = service.log._log
        append, appended = LogAppender.append_as_follower, []

        def append_three(*arguments: Any) -> Any:
            appended.append(1)
            if len(appended) > 3:
                raise StorageError("No space left on device")
            return append(*arguments)

        monkeypatch.setattr(LogAppender, "append_as_follower", append_three)
        end_offset = log.log_end_offset
        with pytest.raises(StorageError):
            service.commit(list(records), NOW_MS)
        assert log.log_end_offset == end_offset
        assert not service.image.config_of(ResourceType.GROUP, "g")
        monkeypatch.setattr(LogAppender, "append_as_follower", append)
        service.commit(list(records), NOW_MS)
    with open_service(tmp_path) as service:
        assert len(service.image.config_of(ResourceType.GROUP, "g")) == count


# Damage --------------------------------------------------------------------------


def log_file(tmp_path: Path) -> Path:
    return tmp_path / METADATA / "00000000000000000000.log"


def batches(path: Path) -> list[tuple[int, int]]:
    """(position, size) of each batch."""
    return [(position, header.size_in_bytes) for position, header in iterate_headers(path.read_bytes())]


def flip(path: Path, position: int) -> None:
    path.chmod(0o644)
    data = bytearray(path.read_bytes())
    data[position] ^= 0x10
    path.write_bytes(data)


@pytest.fixture(params=["stopped", "killed"])
def filled(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A directory whose metadata log has several batches."""
    with open_service(tmp_path, crash=request.param == "killed") as service:
        configure(service, 5)
    return tmp_path


def test_rot_in_the_middle_of_the_log_stops_the_start_and_changes_nothing(filled: Path) -> None:
    position, size = batches(log_file(filled))[3]
    flip(log_file(filled), position + size - 3)
    before = log_file(filled).read_bytes()
    expected = rf"{re.escape(str(log_file(filled)))}, byte {position}.*follows at byte {position + size}.*copy"
    with pytest.raises(MetadataLogError, match=expected), open_service(filled):
        pass
    assert log_file(filled).read_bytes() == before


def test_torn_end_of_the_log_is_cut(filled: Path) -> None:
    data = log_file(filled).read_bytes()
    log_file(filled).write_bytes(data + data[-80:-7])
    with open_service(filled) as service:
        assert service.image.config_of(ResourceType.GROUP, "g") == {"k": "4"}


def test_rot_before_the_snapshot_is_not_asked_about(filled: Path) -> None:
    with open_service(filled) as service:
        configure(service, 3)
        service.write_snapshot(NOW_MS)
        configure(service, 9)
    position, size = batches(log_file(filled))[3]
    flip(log_file(filled), position + size - 3)
    with open_service(filled) as service:
        assert service.image.config_of(ResourceType.GROUP, "g") == {"k": "8"}


def test_damaged_snapshot_is_passed_over_where_the_log_says_the_same(
    filled: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with open_service(filled) as service:
        service.write_snapshot(NOW_MS)
        snapshot = filled / METADATA / service.log.snapshot_ids[-1].file_name
        configure(service, 7)
    flip(snapshot, 200)
    with open_service(filled) as service:
        assert service.image.config_of(ResourceType.GROUP, "g") == {"k": "6"}
        assert service.log.kraft_version == 1
    assert f"{snapshot}, byte" in caplog.text


def test_damaged_snapshot_that_nothing_replaces_stops_the_start(tmp_path: Path) -> None:
    with open_service(tmp_path, TINY, "metadata.max.retention.bytes=1") as service:
        configure(service, 80)
        service.write_snapshot(NOW_MS)
        snapshot = tmp_path / METADATA / service.log.snapshot_ids[-1].file_name
    flip(snapshot, 100)
    with pytest.raises(MetadataLogError, match=re.escape(str(snapshot))), open_service(tmp_path, TINY):
        pass


@pytest.mark.parametrize("cut", [1, 74, 76, 400])
def test_snapshot_without_its_end_is_damage(tmp_path: Path, cut: int) -> None:
    with open_service(tmp_path) as service:
        configure(service, 3)
        service.write_snapshot(NOW_MS)
        snapshot = tmp_path / METADATA / service.log.snapshot_ids[-1].file_name
    data = snapshot.read_bytes()
    snapshot.chmod(0o644)
    snapshot.write_bytes(data[:-cut])
    with open_service(tmp_path) as service:
        assert service.log.snapshot_ids[-1].file_name != snapshot.name
        assert service.image.config_of(ResourceType.GROUP, "g") == {"k": "2"}


def test_log_that_begins_late_without_a_snapshot_is_named(tmp_path: Path) -> None:
    with open_service(tmp_path, TINY, "metadata.max.retention.bytes=1") as service:
        configure(service, 80)
        service.write_snapshot(NOW_MS)
    for name in names(tmp_path, ".checkpoint"):
        (tmp_path / METADATA / name).unlink()
    with pytest.raises(MetadataLogError, match=r"begins at offset \d+, and no snapshot"), open_service(tmp_path, TINY):
        pass


def test_snapshot_ahead_of_the_log_is_where_the_log_begins_anew(tmp_path: Path) -> None:
    with open_service(tmp_path) as service:
        configure(service, 4)
        service.write_snapshot(NOW_MS)
        end_offset = service.log.snapshot_ids[-1].end_offset
    position, _ = batches(log_file(tmp_path))[5]
    log_file(tmp_path).write_bytes(log_file(tmp_path).read_bytes()[:position])
    with open_service(tmp_path) as service:
        assert service.log.log_start_offset == end_offset
        assert service.image.config_of(ResourceType.GROUP, "g") == {"k": "3"}
