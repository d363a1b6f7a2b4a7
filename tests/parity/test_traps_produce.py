"""Edge cases of Produce: idempotent sequences, malformed batches, and batches that the topic's configs refuse."""

import struct
from collections.abc import Callable
from typing import Any

import pytest
from crc32c import crc32c

from odradek.protocol.codec.header import encode_request
from odradek.protocol.common.wall_clock import clock_ms
from odradek.protocol.messages.produce import ProduceRequest
from odradek.protocol.messages.topics import DeleteTopicsRequest
from odradek.protocol.messages.transactions import InitProducerIdRequest
from odradek.protocol.records.batch import LOG_APPEND_TIME_FLAG
from odradek.protocol.records.builder import encode_batch
from odradek.protocol.records.compression import CompressionType
from odradek.protocol.records.record import Record
from parity.side import BASE_TIME_MS, Side, batch, produce_request, same
from parity.two_brokers import TwoBrokers

pytestmark = pytest.mark.java

TOPIC = "trap-produce"
MAX_SEQUENCE = 2**31 - 1


@pytest.fixture(scope="module", autouse=True)
def topic(both: TwoBrokers) -> None:
    same(both, lambda side: side.topic(TOPIC, 2))


# Idempotent producers. A step is (producer, epoch, first sequence, number of records).

Step = tuple[int, int, int, int]

SEQUENCES: list[tuple[str, list[Step], list[int]]] = [
    ("in-order", [(0, 0, 0, 2), (0, 0, 2, 3), (0, 0, 5, 1)], [0, 0, 0]),
    ("the-last-again", [(0, 0, 0, 2), (0, 0, 0, 2)], [0, 0]),
    ("the-last-five-again", [*((0, 0, n, 1) for n in range(6)), *((0, 0, n, 1) for n in range(1, 6))], [0] * 11),
    ("the-sixth-last-again", [*((0, 0, n, 1) for n in range(6)), (0, 0, 0, 1)], [*[0] * 6, 45]),
    ("a-duplicate-of-other-length", [(0, 0, 0, 2), (0, 0, 0, 3)], [0, 45]),
    ("a-gap", [(0, 0, 0, 2), (0, 0, 3, 1), (0, 0, 2, 1)], [0, 45, 0]),
    ("an-overlap", [(0, 0, 0, 3), (0, 0, 2, 2)], [0, 45]),
    ("a-first-batch-that-is-not-0", [(0, 0, 5, 1), (0, 0, 6, 1)], [0, 0]),
    ("a-new-epoch-from-0", [(0, 0, 0, 2), (0, 1, 0, 1), (0, 1, 1, 1)], [0, 0, 0]),
    ("a-new-epoch-not-from-0", [(0, 0, 0, 2), (0, 1, 2, 1)], [0, 45]),
    ("an-old-epoch", [(0, 3, 0, 2), (0, 2, 2, 1), (0, 3, 2, 1)], [0, 47, 0]),
    ("an-old-epoch-again-after-the-new", [(0, 0, 0, 1), (0, 1, 0, 1), (0, 0, 0, 1)], [0, 0, 47]),
    ("two-producers", [(0, 0, 0, 2), (1, 0, 0, 1), (0, 0, 2, 1), (1, 0, 1, 1)], [0] * 4),
    ("a-wrap", [(0, 0, MAX_SEQUENCE - 1, 2), (0, 0, 0, 2)], [0, 0]),
    ("a-wrap-inside-a-batch", [(0, 0, MAX_SEQUENCE - 1, 3), (0, 0, 1, 1), (0, 0, MAX_SEQUENCE - 1, 3)], [0, 0, 0]),
    ("a-wrap-that-skips", [(0, 0, MAX_SEQUENCE, 1), (0, 0, 1, 1)], [0, 45]),
    ("the-highest-epoch", [(0, 32767, 0, 1), (0, 32767, 1, 1), (0, 0, 0, 1)], [0, 0, 47]),
]


@pytest.mark.parametrize(("steps", "errors"), [case[1:] for case in SEQUENCES], ids=[case[0] for case in SEQUENCES])
def test_idempotent_sequences(
    both: TwoBrokers, request: pytest.FixtureRequest, steps: list[Step], errors: list[int]
) -> None:
    name = "trap-seq-" + request.node.callspec.id

    def scene(side: Side) -> Any:
        side.topic(name)
        ids = [side.producer_id()[0] for _ in range(2)]
        answers = []
        for producer, epoch, sequence, count in steps:
            data = batch(*range(count), producer_id=ids[producer], producer_epoch=epoch, base_sequence=sequence)
            answers.append(side.produce(name, data))
        return [answers, side.batches(name)]

    seen = same(both, scene)
    codes = [answer["errorCode"] for answer in seen[0]]
    assert codes == errors


def test_a_producer_id_that_nobody_was_given(both: TwoBrokers) -> None:
    def scene(side: Side) -> Any:
        name = side.topic("trap-unknown-producer")
        data = batch(1, producer_id=987_654_321, producer_epoch=0, base_sequence=4)
        return [side.produce(name, data), side.produce(name, data)]

    same(both, scene)


def test_sequences_after_the_topic_was_made_anew(both: TwoBrokers) -> None:
    def scene(side: Side) -> Any:
        name = side.topic("trap-seq-anew")
        producer, epoch = side.producer_id()
        first = batch(1, 2, producer_id=producer, producer_epoch=epoch, base_sequence=0)
        answers = [side.produce(name, first)]
        side.ask(DeleteTopicsRequest(topic_names=[name], timeout_ms=10_000), 5)
        side.topic(name)
        following = batch(3, producer_id=producer, producer_epoch=epoch, base_sequence=2)
        return [*answers, side.produce(name, following), side.produce(name, first), side.batches(name)]

    same(both, scene)


@pytest.mark.parametrize(
    ("producer_id", "epoch", "timeout_ms"), [(-1, -1, 0), (-1, -1, -5), (5, 0, 1000), (5, -1, 1000), (-1, 3, 1000)]
)
@pytest.mark.parametrize("transactional_id", [None, ""])
def test_init_producer_id(
    both: TwoBrokers, transactional_id: str | None, producer_id: int, epoch: int, timeout_ms: int
) -> None:
    request = InitProducerIdRequest(transactional_id, timeout_ms, producer_id, epoch)
    same(both, lambda side: side.ask(request, 4))


# Malformed batches.


def with_crc(data: bytes) -> bytes:
    """The batch with the correct CRC for its content."""
    return data[:17] + struct.pack(">I", crc32c(data[21:])) + data[21:]


def changed(at: int, form: str, value: int, data: bytes | None = None) -> bytes:
    """A valid batch of 3 records with another value at a position, and the correct CRC for it."""
    damaged = bytearray(batch(1, 2, 3) if data is None else data)
    struct.pack_into(form, damaged, at, value)
    return with_crc(bytes(damaged))


GOOD = batch(1, 2, 3)
MALFORMED: list[tuple[str, bytes]] = [
    ("a-wrong-crc", GOOD[:17] + b"\0\0\0\0" + GOOD[21:]),
    ("a-damaged-record", GOOD[:-2] + b"\xff" + GOOD[-1:]),
    ("magic-0", changed(16, ">b", 0)),
    ("magic-1", changed(16, ">b", 1)),
    ("magic-3", changed(16, ">b", 3)),
    ("magic-negative", changed(16, ">b", -1)),
    ("a-negative-length", changed(8, ">i", -1)),
    ("a-length-of-0", changed(8, ">i", 0)),
    ("a-length-below-the-header", changed(8, ">i", 40)),
    ("a-length-behind-the-end", changed(8, ">i", len(GOOD))),
    ("a-length-of-two-billion", changed(8, ">i", 2_000_000_000)),
    ("no-bytes", b""),
    ("half-a-header", GOOD[:30]),
    ("half-a-batch", GOOD[:-10]),
    ("two-batches", GOOD + GOOD),
    ("a-batch-and-a-half", GOOD + GOOD[:40]),
    ("a-batch-and-noise", GOOD + b"\xff" * 80),
    ("no-records", changed(57, ">i", 0, GOOD[:61][:8] + struct.pack(">i", 49) + GOOD[12:61])),
    ("more-records-than-there-are", changed(57, ">i", 4)),
    ("fewer-records-than-there-are", changed(57, ">i", 2)),
    ("a-negative-count", changed(57, ">i", -1)),
    ("a-last-offset-delta-too-small", changed(23, ">i", 1)),
    ("a-last-offset-delta-too-large", changed(23, ">i", 7)),
    ("a-negative-last-offset-delta", changed(23, ">i", -1)),
    ("a-base-offset-that-is-not-0", changed(0, ">q", 5)),
    ("a-negative-base-offset", changed(0, ">q", -5)),
    ("a-leader-epoch", changed(12, ">i", 7)),
    ("a-max-timestamp-that-is-wrong", changed(35, ">q", BASE_TIME_MS + 77)),
    ("a-producer-id-without-a-sequence", changed(43, ">q", 5)),
    ("a-producer-id-with-a-negative-epoch", changed(43, ">q", 5, changed(53, ">i", 0))),
    ("a-sequence-without-a-producer-id", changed(53, ">i", 0)),
    ("an-unknown-attribute", changed(21, ">h", 1 << 10)),
    ("log-append-time-from-a-client", changed(21, ">h", 8)),
    ("log-append-time-from-a-client-compressed", changed(21, ">h", 9, batch(1, 2, compression=CompressionType.GZIP))),
    ("a-control-batch-from-a-client", changed(21, ">h", 32)),
    ("a-transaction-without-a-transactional-id", changed(21, ">h", 16)),
    ("a-delete-horizon-from-a-client", changed(21, ">h", 64)),
]


@pytest.mark.parametrize("data", [case[1] for case in MALFORMED], ids=[case[0] for case in MALFORMED])
@pytest.mark.parametrize("version", [3, 9])
def test_a_malformed_batch(both: TwoBrokers, request: pytest.FixtureRequest, version: int, data: bytes) -> None:
    name = f"trap-batch-{request.node.callspec.id}"

    def scene(side: Side) -> Any:
        side.topic(name)
        answer = side.answer(produce_request(name, data), version)
        return [answer, side.batches(name)]

    same(both, scene)


def test_one_bad_batch_among_good_ones(both: TwoBrokers) -> None:
    def scene(side: Side) -> Any:
        name = side.topic("trap-some-bad", 3)
        sent = [GOOD, GOOD[:17] + b"\0\0\0\0" + GOOD[21:], batch(1, size=2_000_000)]
        parts = [ProduceRequest.PartitionProduceData(index, data) for index, data in enumerate(sent)]
        request = ProduceRequest(None, 1, 1000, [ProduceRequest.TopicProduceData(name, partition_data=parts)])
        return [side.ask(request, 9), [side.batches(name, partition=index) for index in range(3)]]

    same(both, scene)


# The topic's configuration.


def at(*times: int, key: bytes | None = b"k") -> bytes:
    return encode_batch([Record(i, time_ms, key, b"v", []) for i, time_ms in enumerate(times)])


def some_without_key() -> bytes:
    return encode_batch([Record(i, BASE_TIME_MS, key, b"v", []) for i, key in enumerate((b"a", None, b"b", None))])


def stamped(time_ms: int = BASE_TIME_MS) -> bytes:
    """A batch whose attributes say LogAppendTime, as if a broker had set its time."""
    data = bytearray(at(time_ms, time_ms))
    data[22] |= LOG_APPEND_TIME_FLAG
    return with_crc(bytes(data))


HOUR_MS = 3_600_000
CONFIGURED: list[tuple[str, dict[str, str], Callable[[], bytes], int]] = [
    ("a-batch-as-large-as-allowed", {"max.message.bytes": "200"}, lambda: batch(1, size=200 - 61 - 15), -1),
    ("a-batch-too-large", {"max.message.bytes": "100"}, lambda: batch(1, 2, size=50), 10),
    ("a-batch-too-large-unless-compressed", {"max.message.bytes": "150"},
     lambda: batch(1, size=500, compression=CompressionType.GZIP), 0),
    ("recompressed", {"compression.type": "gzip"}, lambda: batch(1, 2, 3), 0),
    ("decompressed", {"compression.type": "uncompressed"}, lambda: batch(1, 2, compression=CompressionType.LZ4), 0),
    ("kept", {"compression.type": "producer"}, lambda: batch(1, 2, compression=CompressionType.SNAPPY), 0),
    ("recompressed-otherwise", {"compression.type": "zstd"}, lambda: batch(1, compression=CompressionType.LZ4), 0),
    ("stamped", {"message.timestamp.type": "LogAppendTime"}, lambda: batch(1, 2, 3), 0),
    ("stamped-and-compressed", {"message.timestamp.type": "LogAppendTime"},
     lambda: batch(1, 2, compression=CompressionType.GZIP), 0),
    ("stamped-by-the-client", {}, stamped, 0),
    ("stamped-by-the-client-and-by-us", {"message.timestamp.type": "LogAppendTime"}, stamped, 32),
    ("stamped-by-the-client-for-nobody", {}, lambda: stamped(-1), 32),
    ("too-far-in-the-future", {}, lambda: at(clock_ms(), clock_ms() + 2 * HOUR_MS), 32),
    ("not-too-far-in-the-future", {"message.timestamp.after.max.ms": str(3 * HOUR_MS)},
     lambda: at(clock_ms() + 2 * HOUR_MS), 0),
    ("too-old", {"message.timestamp.before.max.ms": "1000"}, lambda: at(clock_ms(), clock_ms() - HOUR_MS), 32),
    ("of-no-time", {}, lambda: at(-1), 0),
    ("of-no-time-where-age-is-limited", {"message.timestamp.before.max.ms": "1000"}, lambda: at(-1), 0),
    ("without-a-key-compacted", {"cleanup.policy": "compact"}, lambda: batch(1, 2, key=None), 87),
    ("one-without-a-key-compacted", {"cleanup.policy": "compact,delete"}, some_without_key, 87),
    ("with-keys-compacted", {"cleanup.policy": "compact"}, lambda: batch(1, 2), 0),
    ("an-empty-key-compacted", {"cleanup.policy": "compact"}, lambda: batch(1, key=b""), 0),
    ("more-replicas-than-there-are", {"min.insync.replicas": "2"}, lambda: batch(1), -1),
]  # fmt: skip


@pytest.mark.parametrize(
    ("configs", "make", "error"), [case[1:] for case in CONFIGURED], ids=[case[0] for case in CONFIGURED]
)
@pytest.mark.parametrize("version", [7, 9])
def test_what_a_topic_is_configured_for(
    both: TwoBrokers,
    request: pytest.FixtureRequest,
    version: int,
    configs: dict[str, str],
    make: Callable[[], bytes],
    error: int,
) -> None:
    name = f"trap-config-{request.node.callspec.id}"

    def scene(side: Side) -> Any:
        side.topic(name, configs=configs)
        answer = side.produce(name, make(), version=version)
        for refused in answer.get("recordErrors", ()):
            del refused["batchIndexErrorMessage"]
        stored = side.batches(name)
        for one in stored:
            # Codecs may compress the same records to different bytes.
            one["size"] = one["size"] if one["attributes"] & 7 == 0 else "compressed"
        return [answer, "logAppendTimeMs" in answer and answer["logAppendTimeMs"] > 0, stored]

    seen = same(both, scene)
    assert error == -1 or seen[0]["errorCode"] == error


# acks.


@pytest.mark.parametrize("acks", [2, -2, 100, 32767])
def test_acks_that_are_none(both: TwoBrokers, acks: int) -> None:
    assert same(both, lambda side: side.produce(TOPIC, GOOD, acks=acks))["errorCode"] == 21


@pytest.mark.parametrize("data", [GOOD, GOOD[:17] + b"\0\0\0\0" + GOOD[21:]], ids=["good", "corrupt"])
@pytest.mark.parametrize("name", [TOPIC, "nowhere"])
def test_acks_0_is_not_answered_and_closes_where_it_fails(both: TwoBrokers, name: str, data: bytes) -> None:
    def scene(side: Side) -> Any:
        unanswered = encode_request(produce_request(name, data, acks=0), 9, 1, "raw")
        behind = encode_request(produce_request(TOPIC, GOOD, acks=1), 9, 2, "raw")
        return [struct.unpack_from(">i", answer)[0] for answer in side.exchange(unanswered + behind)]

    assert same(both, scene) == ([2] if name == TOPIC and data == GOOD else [])


@pytest.mark.parametrize("version", [12, 13])
def test_produce_to_what_is_not_there(both: TwoBrokers, version: int) -> None:
    request = produce_request("nowhere", GOOD, topic_id=bytes(range(16)))
    seen = same(both, lambda side: side.ask(request, version))
    assert seen["responses"][0]["partitionResponses"][0]["errorCode"] == (100 if version == 13 else 3)


@pytest.mark.parametrize("name", ["__consumer_offsets", "__transaction_state"])
def test_produce_to_an_internal_topic(both: TwoBrokers, name: str) -> None:
    same(both, lambda side: side.produce(name, GOOD))
