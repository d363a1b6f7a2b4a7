"""Logs with message formats 0 and 1, as Kafka 2.8.2 wrote them: served, recovered, cut and kept like any other log."""

import shutil
from pathlib import Path

import pytest

from odradek.protocol.common.steps import run_to_end
from odradek.protocol.records.batch import iterate_headers
from odradek.protocol.records.record import Record, iterate_records
from odradek.storage.log.log import Log
from odradek.storage.log.log_config import LogConfig
from support.data.log_model import data_of
from support.data.old_formats import TOPICS, stored, unpack
from support.data.timestamp_searches import max_timestamp, offset_for_timestamp

NOW = 1_800_000_000_000
CONFIG = LogConfig(segment_bytes=6000, index_interval_bytes=400, retention_ms=-1)


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return unpack(tmp_path_factory.mktemp("kafka"))


@pytest.fixture(params=TOPICS)
def directory(request: pytest.FixtureRequest, written: Path, tmp_path: Path) -> Path:
    """The directory of one partition, to change."""
    target = tmp_path / f"{request.param}-0"
    shutil.copytree(written / target.name, target)
    return target


def topic_of(directory: Path) -> str:
    return directory.name[:-2]


def opened(directory: Path, *, is_clean: bool = True, config: LogConfig = CONFIG, start: int = 0) -> Log:
    return Log.open(directory, config, now_ms=NOW, clean_shutdown=is_clean, log_start_offset=start)


def records_from(log: Log, offset: int = 0) -> list[Record]:
    """The records from an offset on; with LogAppendTime, 0 stands for the time."""
    found: list[Record] = []
    while offset < log.log_end_offset:
        data = data_of(log.read(offset, 1 << 20).data)
        for position, header in iterate_headers(data):
            found += [
                record._replace(timestamp=0) if header.is_log_append_time else record
                for record in iterate_records(data, header, position)
                if record.offset >= offset
            ]
            end = header.next_offset
        offset = end
    return found


def logs_of(directory: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(directory.glob("*.log"))}


@pytest.mark.parametrize("is_clean", [True, False])
def test_every_record_is_served_and_no_byte_of_the_log_changes(directory: Path, is_clean: bool) -> None:
    before = logs_of(directory)
    expected = stored(topic_of(directory))
    log = opened(directory, is_clean=is_clean)
    assert (log.log_start_offset, log.log_end_offset) == (0, len(expected))
    for offset in range(0, len(expected), 5):
        assert records_from(log, offset) == expected[offset:], f"from offset {offset}"
    log.close()
    assert logs_of(directory) == before
    assert not list(directory.glob("*removed*"))


def test_indexes_are_rebuilt_from_the_messages(directory: Path) -> None:
    for path in [*directory.glob("*.index"), *directory.glob("*.timeindex")]:
        path.unlink()
    log = opened(directory)
    for offset, expected in enumerate(stored(topic_of(directory))):
        first = data_of(log.read(offset, 1).data)
        assert next(r for r in iterate_records(first) if r.offset == offset).value == expected.value
    log.close()


def test_a_torn_tail_is_cut_at_a_message(directory: Path) -> None:
    path = sorted(directory.glob("*.log"))[-1]
    data = path.read_bytes()
    last_two = [position for position, _ in iterate_headers(data)][-2:]
    for cut in (last_two[1] + 1, last_two[1] + 20, len(data) - 1):
        path.write_bytes(data[:cut])
        log = opened(directory, is_clean=False)
        end = next(header.next_offset for position, header in iterate_headers(data) if position == last_two[0])
        assert log.log_end_offset == end
        assert records_from(log) == stored(topic_of(directory))[:end]
        log.abort()
        assert path.read_bytes() == data[: last_two[1]]


def test_records_by_time(directory: Path) -> None:
    log = opened(directory)
    records = [record for record in stored(topic_of(directory)) if record.timestamp > 0]
    if topic_of(directory).endswith("-append"):
        records = []
    for wanted in {time + shift for _, time, *_ in records for shift in (-1, 0, 1)}:
        expected = next((record.offset for record in records if record.timestamp >= wanted), None)
        found = offset_for_timestamp(log, wanted)
        assert (None if found is None else found.offset) == expected, wanted
    newest = max_timestamp(log)
    if records:
        latest = max(record.timestamp for record in records)
        assert newest is not None
        assert newest.offset == next(record.offset for record in records if record.timestamp == latest)
    elif directory.name.startswith("f0"):
        assert newest is None, "as in Kafka: records of format 0 have no time"
    log.close()


def test_retention_truncation_and_a_follower(directory: Path, tmp_path: Path) -> None:
    """A copy that is fetched piece by piece has the same bytes; retention and truncation keep whole messages."""
    expected = stored(topic_of(directory))
    log = opened(directory)
    copy = opened(tmp_path / "copy-0")
    while copy.log_end_offset < log.log_end_offset:
        data = data_of(log.read(copy.log_end_offset, 700).data)
        copy.appender.append_as_follower(data, NOW)
    assert records_from(copy) == expected
    assert b"".join(logs_of(copy.directory).values()) == b"".join(logs_of(directory).values())
    copy.removal.truncate_to(40)
    assert records_from(copy) == [r for r in expected if r.offset < 40][: len(records_from(copy))]
    assert run_to_end(copy.find_record(0)) is not None
    copy.close()
    log.offsets.increment_log_start_offset(60)
    log.close()
    log = opened(directory, start=60)
    assert records_from(log, 60) == expected[60:]
    log.update_config(LogConfig(retention_ms=1, segment_bytes=6000))
    log.delete_old_segments(NOW * 2)
    assert log.log_start_offset == log.log_end_offset == len(expected)
    log.close()
