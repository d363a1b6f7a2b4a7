"""Decoding records: in slices on a thread, fair between owners, and on the event loop only up to a limit."""

import asyncio
import gc
import sys
import threading
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest

from odradek.broker.fetch.session import FetchSessionCache
from odradek.broker.replicas import record_work
from odradek.broker.replicas.offset_searches import OffsetSearches
from odradek.broker.replicas.record_work import MAX_BEGUN, RECORDS, RecordWork
from odradek.protocol.apis.api_keys import ApiKey
from odradek.protocol.common.steps import Steps
from odradek.protocol.errors import ErrorCode, KafkaError
from odradek.protocol.messages.fetch import FetchRequest
from odradek.protocol.messages.offsets import ListOffsetsRequest
from odradek.protocol.messages.structure import ZERO_UUID
from odradek.protocol.records.builder import BatchBuilder, encode_batch
from odradek.protocol.records.compression import CompressionType
from odradek.protocol.records.errors import InvalidRecordError
from odradek.protocol.records.record import Record, decode_records
from odradek.protocol.records.varint import MAX_INT64
from odradek.storage.log.log_config import LogConfig
from odradek.storage.log.read_result import in_memory
from odradek.storage.log.record_inspection import MAX_RECORD_ERRORS

from ..append_path import NOW, TOPIC, AppendPath, batch, only, turns

COMPACTED = LogConfig(cleanup_policy=frozenset({"compact"}))
HOUR_MS = 3_600_000
FAR_AHEAD_MS = 4_000_000_000_000


@pytest.fixture
def one_step_a_slice(monkeypatch: pytest.MonkeyPatch) -> None:
    """A clock with which each slice has one step."""
    ticks = iter(range(10**6))
    monkeypatch.setattr(record_work, "perf_counter", lambda: next(ticks) * record_work.SLICE_S * 0.75)


def wanted() -> bool:
    return True


class Journal:
    """Work that notes each of its steps and the thread that ran it."""

    def __init__(self) -> None:
        self.taken: list[str] = []
        self.threads: set[str] = set()
        self.work = RecordWork()

    def begin(
        self, name: str, steps: int, owner: object = None, is_wanted: Callable[[], bool] = wanted
    ) -> "asyncio.Future[str | KafkaError]":
        done: asyncio.Future[str | KafkaError] = asyncio.get_running_loop().create_future()
        self.work.run(owner or name, self._steps(name, steps), done.set_result, is_wanted)
        return done

    def _steps(self, name: str, count: int) -> Steps[str]:
        for _ in range(count):
            self.taken.append(name)
            self.threads.add(threading.current_thread().name)
            yield
        return name


@pytest.mark.usefixtures("one_step_a_slice")
async def test_owners_take_turns_off_the_loop() -> None:
    journal = Journal()
    done = [journal.begin("a", 6), journal.begin("b", 6), journal.begin("c", 1)]
    assert await asyncio.gather(*done) == ["a", "b", "c"]
    assert journal.taken.index("b") < 4
    assert journal.taken.index("c") < 6
    longest = max(journal.taken[start : start + 5].count("a") for start in range(3))
    assert longest <= 4, journal.taken
    assert threading.current_thread().name not in journal.threads
    assert len(journal.threads) == 1
    assert len(journal.work) == 0


@pytest.mark.usefixtures("one_step_a_slice")
async def test_an_owner_has_one_piece_under_way_and_few_have_begun() -> None:
    journal = Journal()
    first = [journal.begin("first", 5, owner=1), journal.begin("second", 2, owner=1)]
    others = [journal.begin(f"other-{number}", 5) for number in range(MAX_BEGUN + 3)]
    await asyncio.gather(*first, *others)
    last_of_first = len(journal.taken) - 1 - journal.taken[::-1].index("first")
    assert journal.taken.index("second") > last_of_first
    for position in range(len(journal.taken)):
        begun = {name for name in journal.taken[: position + 1] if name in journal.taken[position + 1 :]}
        assert len(begun) <= MAX_BEGUN + 1


@pytest.mark.usefixtures("one_step_a_slice")
async def test_small_work_goes_on_beside_a_stream_of_new_work() -> None:
    journal = Journal()
    begun = journal.begin("long", 20)
    for number in range(60):
        await journal.begin(f"new-{number}", 1)
    assert begun.done()


@pytest.mark.usefixtures("one_step_a_slice")
async def test_work_that_is_not_wanted_any_more_is_given_up() -> None:
    journal = Journal()
    is_open = [True]
    gone = journal.begin("gone", 10**6, is_wanted=lambda: is_open[0])
    assert await journal.begin("other", 3) == "other"
    is_open[0] = False
    assert await journal.begin("last", 3) == "last"
    assert not gone.done()
    assert len(journal.work) == 0


async def test_errors_reach_whoever_waits() -> None:
    def fails(error: Exception) -> Steps[None]:
        yield
        raise error

    loop, failures = asyncio.get_running_loop(), RECORDS.failures
    work = RecordWork()
    for error, code in ((InvalidRecordError("x"), ErrorCode.INVALID_RECORD), (ValueError("ours"), None)):
        done: asyncio.Future[KafkaError | None] = loop.create_future()
        work.run(1, fails(error), done.set_result, wanted)
        answered = await done
        assert answered is not None
        assert answered.error_code == (code or ErrorCode.UNKNOWN_SERVER_ERROR)
    await asyncio.sleep(0)
    assert RECORDS.failures == failures + 1


def tiny(count: int, timestamp: int = NOW, key: bytes | None = None) -> bytes:
    builder = BatchBuilder(compression=CompressionType.GZIP)
    for _ in range(count):
        builder.append(timestamp, key, None)
    return builder.build()


@pytest.mark.parametrize(
    ("config", "sent", "code"),
    [
        (COMPACTED, tiny(20_000), ErrorCode.INVALID_RECORD),
        (LogConfig(), tiny(20_000, FAR_AHEAD_MS, b"k"), ErrorCode.INVALID_TIMESTAMP),
    ],
)
async def test_many_tiny_records_are_looked_at_beside_the_loop(
    tmp_path: Path, config: LogConfig, sent: bytes, code: ErrorCode
) -> None:
    path = AppendPath(tmp_path, config)
    await path.produce({0: sent})  # imports the codecs
    tracemalloc.start()
    try:
        refused = path.produce({0: sent})
        assert not refused.done()
        assert path.produce({0: batch()}).done(), "others are served inside the call, also in this partition"
        answer = only(await refused)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert answer.error_code == code
    assert len(answer.record_errors) == MAX_RECORD_ERRORS, "and no further record is looked at"
    assert peak < 2_000_000
    await path.close()


async def test_few_records_are_looked_at_inside_the_call(tmp_path: Path) -> None:
    path = AppendPath(tmp_path, COMPACTED)
    answer = path.produce({0: tiny(3)})
    assert answer.done()
    assert only(answer.result()).error_code == ErrorCode.INVALID_RECORD
    swollen = encode_batch([Record(0, NOW, None, bytes(10**6), [])], compression=CompressionType.GZIP)
    refused = path.produce({0: swollen})
    assert not refused.done(), "one record, but large once it is decompressed"
    assert only(await refused).error_code == ErrorCode.INVALID_RECORD
    await path.close()


@pytest.mark.parametrize("target", ["gzip", "lz4", "snappy", "zstd", "uncompressed"])
@pytest.mark.parametrize("source", list(CompressionType))
async def test_batches_in_another_compression_keep_their_records(
    tmp_path: Path, source: CompressionType, target: str
) -> None:
    path = AppendPath(tmp_path, LogConfig(compression_type=target))
    records = [Record(index, NOW + index, b"k%d" % index, b"v" * index, [("h", b"x")]) for index in range(400)]
    sent = encode_batch(records, compression=source, producer_id=5, producer_epoch=0, base_sequence=0)
    await path.produce({0: batch(b"before")})
    assert only(await path.produce({0: sent})).base_offset == 1
    stored = in_memory(path.log().read(1, 1 << 20).data)
    kept = [record._replace(offset=record.offset + 1) for record in records]
    assert decode_records(stored) == kept
    await path.close()


async def test_a_greatest_timestamp_that_no_record_has_is_put_right(tmp_path: Path) -> None:
    """As LogValidator does. Otherwise retention would keep the segment until the false timestamp."""
    path = AppendPath(tmp_path, LogConfig(message_timestamp_before_max_ms=MAX_INT64 - 1))
    builder = BatchBuilder()
    builder.append(NOW, b"k", b"v")
    builder._max_timestamp = NOW + HOUR_MS - 1
    await path.produce({0: builder.build()})
    assert path.log().segments.active.indexes.max_timestamp == NOW
    await path.close()


async def test_a_configuration_that_changes_meanwhile_is_the_one_that_counts(tmp_path: Path) -> None:
    path = AppendPath(tmp_path, LogConfig(compression_type="gzip"))
    answer = path.produce({0: batch(b"v" * 50_000)})
    path.log().update_config(LogConfig(compression_type="lz4"))
    assert only(await answer).base_offset == 0
    stored = in_memory(path.log().read(0, 1 << 20).data)
    assert stored[22] & 7 == CompressionType.LZ4
    await path.close()


@pytest.mark.parametrize("changed_to", [None, "lz4", "producer"])
async def test_a_large_batch_is_not_in_memory_twice(tmp_path: Path, changed_to: str | None) -> None:
    """Its memory is freed while it is compressed. The records are still available if the configuration then changes."""
    path = AppendPath(tmp_path, LogConfig(compression_type="gzip", max_message_bytes=20_000_000), partitions=2)
    value = Random(7).randbytes(1_000_000)
    large = encode_batch([Record(index, NOW + index, b"k%d" % index, value, []) for index in range(8)])
    small = batch(b"w" * 10_000)
    answer, frame = path.produce_received({0: large, 1: small})
    if changed_to is not None:
        changed = LogConfig(compression_type=changed_to, max_message_bytes=20_000_000)
        path.log().update_config(changed)
    response = await answer
    assert response is not None
    assert [part.error_code for part in response.responses[0].partition_responses] == [0, 0]
    stored = decode_records(in_memory(path.log().read(0, 1 << 25).data))
    assert [record.value for record in stored] == [value] * 8
    assert [record.value for record in decode_records(in_memory(path.log(1).read(0, 1 << 20).data))] == [b"w" * 10_000]
    kept = CompressionType.LZ4 if changed_to == "lz4" else CompressionType.GZIP
    assert in_memory(path.log().read(0, 1 << 25).data)[22] & 7 == kept
    if sys.platform == "linux":
        assert bytes(frame).count(0) > 6_000_000, "the pages that were received are gone"
    await path.close()


async def test_a_search_by_time_looks_into_records_beside_the_loop(tmp_path: Path) -> None:
    """The header of a batch has a maximum timestamp that none of its records has, so all of them are decoded."""
    path = AppendPath(tmp_path, LogConfig())
    builder = BatchBuilder(compression=CompressionType.GZIP)
    for _ in range(20_000):
        builder.append(NOW, b"k", None)
    builder._max_timestamp = NOW + HOUR_MS
    await path.produce({0: builder.build()})
    await path.produce({0: encode_batch([Record(0, NOW + 2 * HOUR_MS, b"k", b"v", [])])})
    open_files = len(path.directory.descriptors)
    for timestamp, offset in ((NOW + 1, 20_000), (NOW, 0), (-3, 20_000), (NOW + 3 * HOUR_MS, -1)):
        wanted_time = ListOffsetsRequest.ListOffsetsPartition(partition_index=0, timestamp=timestamp)
        request = ListOffsetsRequest(-1, 0, [ListOffsetsRequest.ListOffsetsTopic(TOPIC, [wanted_time])])
        answer = path.send(ApiKey.LIST_OFFSETS, 7, request)
        assert answer.done() == (offset == -1), "batches are read beside the loop, indexes are not"
        [topic] = (await answer).topics
        assert topic.partitions[0].offset == offset
    assert len(path.directory.descriptors) == open_files
    descriptor = path.log().segments.active.file.hold_open()
    assert not descriptor.is_held, "what a search holds is given back"
    await path.close()


async def test_a_search_ends_with_its_connection(tmp_path: Path) -> None:
    path = AppendPath(tmp_path, LogConfig())
    await path.produce({0: tiny(20_000, key=b"k")})
    searches = OffsetSearches(path.broker.record_work, 1, lambda: False, lambda: pytest.fail("an answer was sent"))
    searches.add(path.log().search_timestamp(NOW), lambda _: pytest.fail("an answer was sent"))
    searches.resume()
    del searches
    await turns()
    assert len(path.broker.record_work) == 0
    gc.collect()
    assert not path.log().segments.active.file.hold_open().is_held
    await path.close()


async def test_a_fetch_of_an_old_client_is_converted_beside_the_loop(tmp_path: Path) -> None:
    path = AppendPath(tmp_path, LogConfig())
    path.broker.fetch_sessions = FetchSessionCache(1, 1000, Random(1))
    sent = [Record(index, NOW, b"k", b"v", []) for index in range(20_000)]
    await path.produce({0: encode_batch(sent)})
    wanted_partition = FetchRequest.FetchPartition(partition=0, fetch_offset=0, partition_max_bytes=1 << 20)
    topics = [FetchRequest.FetchTopic(TOPIC, ZERO_UUID, [wanted_partition])]
    answer = path.send(ApiKey.FETCH, 2, FetchRequest(topics=topics, max_wait_ms=0, min_bytes=0))
    assert not answer.done()
    [topic] = (await answer).responses
    assert bytes(topic.partitions[0].records).count(b"\0\0\0\1k\0\0\0\1v") == 20_000
    assert not path.log().segments.active.file.hold_open().is_held
    await path.close()
