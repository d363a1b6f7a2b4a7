"""Recovery removes only bytes that are not batches, and keeps what it takes out of a log beside it."""

import logging
import random
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from crc32c import crc32c

from odradek.protocol.errors import ErrorCode
from odradek.protocol.records.batch import ATTRIBUTES_POSITION, CRC_POSITION, MAGIC_POSITION, iterate_headers
from odradek.protocol.records.builder import encode_batch
from odradek.protocol.records.record import Record
from odradek.storage.directory.log_directory import LogDirectory
from odradek.storage.errors import StorageError, UnsupportedBatchError
from odradek.storage.log.log import Log
from odradek.storage.log.log_config import LogConfig
from odradek.storage.log.set_aside import KEPT_MS
from support.data.log_model import data_of
from support.disks.faulty_files import FaultyFiles

NOW = 1_800_000_000_000
CONFIG = LogConfig(segment_bytes=400, index_interval_bytes=1)


def batch(number: int, **fields: int) -> bytes:
    return encode_batch([Record(0, NOW, b"k", b"value %d" % number, [])], **fields)  # type: ignore[arg-type]


def written(directory: Path, batches: int = 12) -> Path:
    """A log with several segments, left as after a kill."""
    log = Log.open(directory, CONFIG, now_ms=NOW)
    for number in range(batches):
        log.appender.append_as_leader(batch(number), 0, NOW)
    log.abort()
    return directory


def segments(directory: Path) -> list[Path]:
    return sorted(path for path in directory.glob("*.log") if path.stat().st_size)


def kept(directory: Path) -> list[bytes]:
    """The contents of the files that were set aside, in the order of their names."""
    return [path.read_bytes() for path in sorted(directory.glob("*.removed-*"))]


def with_changed(path: Path, position: int, byte: int) -> bytes:
    data = bytearray(path.read_bytes())
    data[position] ^= byte
    path.write_bytes(data)
    return bytes(data)


def reopened(directory: Path, now_ms: int = NOW + 5) -> Log:
    return Log.open(directory, CONFIG, now_ms=now_ms)


def test_later_batches_and_segments_are_kept_beside_the_log(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING)
    directory = written(tmp_path / "t-0")
    first, second, *later = segments(directory)
    contents = [path.read_bytes() for path in later]
    places = [position for position, _ in iterate_headers(second.read_bytes())]
    damaged = with_changed(second, places[1] + 70, 1)
    before = first.read_bytes()
    log = reopened(directory)
    assert first.read_bytes() == before
    assert second.read_bytes() == damaged[: places[1]]
    assert kept(directory) == [damaged[places[1] :], *contents]
    assert f"{second}: damaged at byte {places[1]}" in caplog.text
    assert "which are kept in" in caplog.text
    log.close()
    reopened(directory).close()
    assert kept(directory) == [damaged[places[1] :], *contents], "the next start leaves them alone"


@pytest.mark.parametrize("how", ["cut", "crc", "zeros"])
def test_a_torn_last_batch_is_not_kept(tmp_path: Path, how: str) -> None:
    directory = written(tmp_path / "t-0")
    last = segments(directory)[-1]
    data = last.read_bytes()
    *_, position = [position for position, _ in iterate_headers(data)]
    if how == "cut":
        last.write_bytes(data[:-3])
    elif how == "crc":
        with_changed(last, len(data) - 1, 1)
    else:
        position = len(data)
        last.write_bytes(data + bytes(5000))
    reopened(directory).close()
    assert last.read_bytes() == data[:position]
    assert kept(directory) == []


def test_a_whole_last_batch_with_a_wrong_offset_is_kept(tmp_path: Path) -> None:
    directory = written(tmp_path / "t-0")
    last = segments(directory)[-1]
    *_, position = [position for position, _ in iterate_headers(last.read_bytes())]
    data = last.read_bytes()
    data = data[:position] + bytes(8) + data[position + 8 :]
    last.write_bytes(data)
    reopened(directory).close()
    assert kept(directory) == [data[position:]], "the CRC does not cover the offset, so its records may be right"
    assert last.read_bytes() == data[:position]


def test_a_name_is_not_used_twice_and_files_go_after_their_time(tmp_path: Path) -> None:
    directory = written(tmp_path / "t-0", batches=3)
    for _ in range(2):
        log = reopened(directory)
        for number in range(2):
            log.appender.append_as_leader(batch(number), 0, NOW)
        log.abort()
        path = segments(directory)[0]
        places = [position for position, _ in iterate_headers(path.read_bytes())]
        with_changed(path, places[1] + 70, 1)
        reopened(directory).close()
    names = {path.name for path in directory.glob("*.removed-*")}
    assert len(names) >= 2
    reopened(directory, NOW + KEPT_MS).close()
    assert {path.name for path in directory.glob("*.removed-*")} == names
    reopened(directory, NOW + KEPT_MS + 1000).close()
    assert not list(directory.glob("*.removed-*"))


def of_magic(magic: int, data: bytes) -> bytes:
    changed = bytearray(data)
    changed[MAGIC_POSITION] = magic
    return bytes(changed)


def unknown_marker() -> bytes:
    """A control batch of a producer whose key is too short to be a marker."""
    return encode_batch(
        [Record(5, NOW, b"\0", b"", [])],
        base_offset=5,
        producer_id=3,
        producer_epoch=0,
        is_control=True,
        is_transactional=True,
        partition_leader_epoch=0,
    )


@pytest.mark.parametrize("is_clean", [True, False])
@pytest.mark.parametrize(
    "foreign", [of_magic(3, batch(0)), of_magic(127, batch(1)), of_magic(200, batch(2)), unknown_marker()]
)
def test_a_whole_batch_that_is_not_understood_leaves_every_byte(tmp_path: Path, foreign: bytes, is_clean: bool) -> None:
    directory = written(tmp_path / "t-0", batches=5)
    last = segments(directory)[-1]
    if is_clean and foreign[MAGIC_POSITION] == 2:
        return  # after a clean stop no marker is read
    last.write_bytes(last.read_bytes() + foreign + batch(7))
    before = {path.name: path.read_bytes() for path in directory.iterdir()}
    with pytest.raises(UnsupportedBatchError, match=rf"{last.name}: the batch at byte \d+ is whole") as refused:
        Log.open(directory, CONFIG, now_ms=NOW, clean_shutdown=is_clean)
    assert refused.value.error_code is ErrorCode.UNSUPPORTED_FOR_MESSAGE_FORMAT
    assert {path.name: path.read_bytes() for path in directory.iterdir() if path.suffix == ".log"} == {
        name: data for name, data in before.items() if name.endswith(".log")
    }
    assert kept(directory) == []


@pytest.mark.parametrize("is_clean", [True, False])
@pytest.mark.parametrize("codec", [5, 6, 7])
def test_a_batch_with_an_unknown_codec_stays_and_is_served(tmp_path: Path, codec: int, is_clean: bool) -> None:
    """As in Kafka, whose log does not read records: a client that knows the codec can read them."""
    directory = written(tmp_path / "t-0", batches=5)
    data = bytearray(encode_batch([Record(5, NOW, b"k", b"v", [])], base_offset=5, partition_leader_epoch=0))
    data[ATTRIBUTES_POSITION + 1] |= codec
    data[CRC_POSITION:ATTRIBUTES_POSITION] = crc32c(data[ATTRIBUTES_POSITION:]).to_bytes(4, "big")
    last = segments(directory)[-1]
    last.write_bytes(last.read_bytes() + data)
    before = [path.read_bytes() for path in segments(directory)]
    log = Log.open(directory, CONFIG, now_ms=NOW, clean_shutdown=is_clean)
    assert log.log_end_offset == 6
    assert data_of(log.read(5, 1 << 20).data) == data
    log.close()
    assert [path.read_bytes() for path in segments(directory)] == before
    assert kept(directory) == []


def test_a_foreign_magic_with_a_wrong_crc_is_damage(tmp_path: Path) -> None:
    directory = written(tmp_path / "t-0", batches=3)
    last = segments(directory)[-1]
    size = last.stat().st_size
    last.write_bytes(last.read_bytes() + of_magic(3, batch(0))[:-1] + b"\xff")
    reopened(directory).close()
    assert last.stat().st_size == size


@pytest.mark.parametrize("cut", [1, 7, 40, 75])
def test_a_torn_tail_behind_the_marker_of_a_clean_stop_is_recovered(
    tmp_path: Path, cut: int, caplog: pytest.LogCaptureFixture
) -> None:
    directory = written(tmp_path / "t-0")
    log = Log.open(directory, CONFIG, now_ms=NOW)
    log.close()
    last = segments(directory)[-1]
    data = last.read_bytes()
    last.write_bytes(data[:-cut])
    with open_clean(directory) as log:
        whole = [header for _, header in iterate_headers(data[:-cut])]
        assert log.log_end_offset == (whole[-1].next_offset if whole else int(last.stem))
        assert log.appender.append_as_leader(batch(99), 0, NOW).first_offset == log.log_end_offset - 1
    assert caplog.text.count("in spite of the marker of a clean stop; recovering the log") == 1


@contextmanager
def open_clean(directory: Path) -> Iterator[Log]:
    """Opens a log with its recovery point after the torn tail, as a checkpoint of a clean stop has it."""
    log = Log.open(directory, CONFIG, now_ms=NOW, clean_shutdown=True, recovery_point=12)
    yield log
    log.close()


@pytest.mark.parametrize("is_clean", [True, False])
def test_one_log_that_cannot_be_read_leaves_the_others_of_its_directory(
    tmp_path: Path, is_clean: bool, caplog: pytest.LogCaptureFixture
) -> None:
    directory = LogDirectory.open(tmp_path, chance=random.Random(1))
    directory.format("A" * 22, 1, bytes(range(16)))
    for partition in range(3):
        log = directory.open_log("t", partition, CONFIG, NOW, bytes(range(16)))
        log.appender.append_as_leader(batch(partition), 0, NOW)
    if is_clean:
        directory.close()
    else:
        directory.abort()
    broken = segments(tmp_path / "t-1")[-1]
    broken.write_bytes(broken.read_bytes() + of_magic(3, batch(9)))
    data = broken.read_bytes()
    for _ in range(2):
        directory = LogDirectory.open(tmp_path, chance=random.Random(1))
        caplog.clear()
        directory.load_logs(lambda _: CONFIG, NOW)
        assert sorted(directory.logs) == [("t", 0), ("t", 2)]
        assert sorted(directory.unreadable) == [("t", 1)]
        assert f"t-1 is not served: {broken}" in caplog.text
        for _ in range(2):
            with pytest.raises(UnsupportedBatchError):
                directory.open_log("t", 1, CONFIG, NOW)
        assert directory.logs["t", 0].appender.append_as_leader(batch(4), 0, NOW).first_offset > 0
        directory.close()
        assert not (tmp_path / ".kafka_cleanshutdown").exists(), "the next start must recover this log first"
        assert broken.read_bytes() == data
    broken.write_bytes(data[: -len(batch(9))])
    directory = LogDirectory.open(tmp_path, chance=random.Random(1))
    directory.load_logs(lambda _: CONFIG, NOW)
    assert directory.logs["t", 1].log_end_offset == 1
    directory.close()
    assert (tmp_path / ".kafka_cleanshutdown").exists()


def test_a_directory_without_a_partition_is_renamed_with_a_warning(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "backup-2024").mkdir()
    (tmp_path / "backup-2024" / "notes").write_text("mine")
    directory = LogDirectory.open(tmp_path, chance=random.Random(1))
    directory.find_logs(NOW, lambda *_: True)
    [renamed] = tmp_path.glob("backup-2024.*-stray")
    assert (renamed / "notes").read_text() == "mine"
    [line] = [record for record in caplog.records if "renamed" in record.getMessage()]
    assert line.levelno == logging.WARNING
    directory.abort()


@pytest.mark.parametrize("operation", ["write", "create", "rename", "truncate"])
def test_without_room_to_set_bytes_aside_nothing_is_cut(tmp_path: Path, operation: str) -> None:
    """The log is opened by a later start, when there is room again."""
    directory = written(tmp_path / "t-0")
    second = segments(directory)[1]
    places = [position for position, _ in iterate_headers(second.read_bytes())]
    with_changed(second, places[1] + 70, 1)
    before = sum(path.stat().st_size for path in segments(directory))
    files = FaultyFiles()
    files.fail(operation)
    with pytest.raises(StorageError):
        Log.open(directory, CONFIG, now_ms=NOW, files=files)
    whole = sum(path.stat().st_size for path in [*segments(directory), *directory.glob("*.log.removed-*")])
    assert whole >= before
    reopened(directory).close()
    whole = sum(path.stat().st_size for path in [*segments(directory), *directory.glob("*.log.removed-*")])
    assert whole >= before
