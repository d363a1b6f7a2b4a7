"""max.decompressed.message.bytes: the largest record of a compressed batch, at Odradek and at Kafka."""

from typing import Any

import pytest

from odradek.protocol.messages.configs import IncrementalAlterConfigsRequest
from odradek.protocol.messages.offsets import ListOffsetsRequest
from odradek.protocol.records.builder import encode_batch
from odradek.protocol.records.compression import CompressionType
from odradek.protocol.records.record import Record
from parity.side import BASE_TIME_MS, Side, same
from parity.two_brokers import TwoBrokers
from support.eventually import eventually

pytestmark = pytest.mark.java

KEY = "max.decompressed.message.bytes"
LIMIT = 20_000
MAX_TIMESTAMP = -3
CODECS = [codec for codec in CompressionType if codec]


def of_sizes(*sizes: int, compression: CompressionType = CompressionType.GZIP) -> bytes:
    """A batch of records with bodies of these many bytes: all of a record but its length."""
    records = []
    for offset, size in enumerate(sizes):
        length = size - 7 if size - 7 < 64 else size - 8 if size - 8 < 8192 else size - 9
        records.append(Record(offset, BASE_TIME_MS + offset, b"k", bytes(length), []))
    return encode_batch(records, compression=compression)


def without_text(answer: Any) -> Any:
    """The answer, with the text of its error as far as it does not name a size that Odradek does not know."""
    return {key: value for key, value in answer.items() if key != "errorMessage"}


SIZES = [(LIMIT,), (LIMIT + 1,), (10_000, 10_000, 10_000), (10, LIMIT, 10), (10, LIMIT + 1, 10), (10, 10, 1_000_000)]


@pytest.mark.parametrize("codec", CODECS, ids=lambda codec: str(codec.name.lower()))
@pytest.mark.parametrize("sizes", SIZES, ids=str)
def test_a_record_is_limited_and_a_batch_is_not(
    both: TwoBrokers, request: pytest.FixtureRequest, codec: CompressionType, sizes: tuple[int, ...]
) -> None:
    name = "trap-" + "".join(c for c in request.node.callspec.id if c.isalnum() or c == "-")

    def scene(side: Side) -> Any:
        side.topic(name, configs={KEY: str(LIMIT)})
        answer = side.produce(name, of_sizes(*sizes, compression=codec))
        return [without_text(answer), [batch["offsets"] for batch in side.batches(name)]]

    seen = same(both, scene)
    assert seen[0]["errorCode"] == (0 if max(sizes) <= LIMIT else 87)


@pytest.mark.parametrize("target", ["zstd", "uncompressed", "producer"])
@pytest.mark.parametrize("limit", [1, 10, 63, 64, LIMIT])
def test_the_text_and_the_smallest_limits(both: TwoBrokers, target: str, limit: int) -> None:
    name = f"trap-decompressed-{target}-{limit}"

    def scene(side: Side) -> Any:
        side.topic(name, configs={KEY: str(limit), "compression.type": target})
        sizes = [(9,), (10,), (11,), (63,), (64,), (65,), (LIMIT,), (9, LIMIT + 1)]
        return [side.produce(name, of_sizes(*of)) for of in sizes]

    same(both, scene)


def test_uncompressed_is_not_checked(both: TwoBrokers) -> None:
    def scene(side: Side) -> Any:
        answers = []
        for target in ("producer", "gzip"):
            name = side.topic(f"trap-not-decompressed-{target}", configs={KEY: "10", "compression.type": target})
            answers.append(side.produce(name, of_sizes(5_000, compression=CompressionType.NONE)))
        return answers

    assert [answer["errorCode"] for answer in same(both, scene)] == [0, 0]


@pytest.mark.parametrize("codec", [CompressionType.GZIP, CompressionType.ZSTD], ids=["gzip", "zstd"])
def test_a_limit_that_is_lowered_later(both: TwoBrokers, codec: CompressionType) -> None:
    name = f"trap-lowered-{codec.name.lower()}"

    def scene(side: Side) -> Any:
        side.topic(name)
        side.produce(name, of_sizes(20, 30, compression=codec))
        side.produce(name, of_sizes(20, 100, 30, compression=codec))
        side.produce(name, of_sizes(200, compression=CompressionType.NONE))
        lower(side, name, 50)
        times = [0, *(BASE_TIME_MS + at for at in range(4)), MAX_TIMESTAMP, -1, -2]
        return [side.ask(_list_offsets(name, time), 7)["topics"] for time in times] + [
            side.batches(name),
            side.produce(name, of_sizes(51, compression=codec))["errorCode"],
        ]

    same(both, scene)


def lower(side: Side, topic: str, limit: int) -> None:
    """Sets the limit of a topic, and waits until it holds: Kafka answers a change before its logs have it."""
    change = [IncrementalAlterConfigsRequest.AlterableConfig(KEY, 0, str(limit))]
    resource = IncrementalAlterConfigsRequest.AlterConfigsResource(2, topic, change)
    assert side.ask(IncrementalAlterConfigsRequest([resource]), 1)["responses"][0]["errorCode"] == 0
    eventually(
        "the limit holds",
        lambda: side.ask(_list_offsets(topic, BASE_TIME_MS + 2), 7)["topics"][0]["partitions"][0]["errorCode"] == 87,
    )


def _list_offsets(topic: str, timestamp: int) -> ListOffsetsRequest:
    partition = ListOffsetsRequest.ListOffsetsPartition(0, timestamp=timestamp)
    return ListOffsetsRequest(-1, topics=[ListOffsetsRequest.ListOffsetsTopic(topic, [partition])])
