"""Fetch and Produce requests for many partitions are served in slices, with the same answers as without slices."""

import socket
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from odradek.protocol.codec import decode
from odradek.protocol.codec.header import encode_request, response_header_version
from odradek.protocol.common.wall_clock import clock_ms
from odradek.protocol.errors import ErrorCode
from odradek.protocol.messages import message_class
from odradek.protocol.messages.fetch import FetchRequest
from odradek.protocol.messages.produce import ProduceRequest
from odradek.protocol.messages.structure import ZERO_UUID, Message
from odradek.protocol.records.builder import encode_batch
from odradek.protocol.records.record import Record
from odradek.testing.broker.in_process import InProcessBroker
from support.brokers.heavy_requests import create
from support.brokers.neighbour import Line

PARTITIONS = 600
COUNTS = [3, 100, PARTITIONS]
"""Numbers of partitions: served at once; in slices; decoded in slices, too."""


@pytest.fixture(scope="module")
def port(tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    with InProcessBroker(tmp_path_factory.mktemp("many")) as broker:
        port = int(broker.bootstrap_servers.rpartition(":")[2])
        for count in COUNTS:
            Line(port).exchange(encode_request(create([f"t{count}", f"w{count}"], PARTITIONS), 5, 7, "c"))
        yield port


def answered(request: Message, version: int, answer: bytes) -> Any:
    response_class = message_class(request.NAME.replace("Request", "Response"))
    return decode(response_class, version, answer, 4 + response_header_version(request.API_KEY, version))[0]


def ask(line: Line, request: Message, version: int) -> Any:
    return answered(request, version, line.exchange(encode_request(request, version, 7, "client")))


def batch(index: int) -> bytes:
    return encode_batch([Record(0, clock_ms(), None, b"%d" % index, [])])


def produce(topic: str, indexes: range, acks: int = -1) -> ProduceRequest:
    data = [ProduceRequest.PartitionProduceData(index, batch(index)) for index in indexes]
    return ProduceRequest(None, acks, 60_000, [ProduceRequest.TopicProduceData(topic, ZERO_UUID, data)])


def fetch(topic: str, indexes: range, *, session: tuple[int, int] = (0, -1), wait_ms: int = 0) -> FetchRequest:
    wanted = [
        FetchRequest.FetchPartition(partition=index, fetch_offset=0, partition_max_bytes=1 << 20) for index in indexes
    ]
    return FetchRequest(
        max_wait_ms=wait_ms,
        min_bytes=1,
        max_bytes=50 << 20,
        session_id=session[0],
        session_epoch=session[1],
        topics=[FetchRequest.FetchTopic(topic, ZERO_UUID, wanted)] if wanted else [],
    )


def read(response: Any) -> dict[int, int]:
    """The bytes of records of each partition in an answer."""
    assert response.error_code == 0
    return {one.partition_index: len(one.records or b"") for topic in response.responses for one in topic.partitions}


@pytest.mark.parametrize("count", COUNTS)
def test_what_is_produced_to_many_is_fetched_from_many(port: int, count: int) -> None:
    line, topic = Line(port), f"t{count}"
    produced = ask(line, produce(topic, range(1, count + 1)), 8)
    [answers] = produced.responses
    codes = [(one.index, one.error_code, one.base_offset) for one in answers.partition_responses]
    unknown = (PARTITIONS, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, -1)
    assert codes == [unknown if index == PARTITIONS else (index, 0, 0) for index in range(1, count + 1)]
    opened = ask(line, fetch(topic, range(count), session=(0, 0)), 12)
    assert read(opened) == {index: len(batch(index)) if index else 0 for index in range(count)}
    assert [len(topic.partitions) for topic in opened.responses] == [count]
    # An answer in a session has only changed partitions. One with records is changed until it is fetched further on.
    again = ask(line, fetch(topic, range(0), session=(opened.session_id, 1)), 12)
    assert read(again) == {index: len(batch(index)) for index in range(1, count)}
    missing = ask(line, fetch("nowhere", range(count)), 12)
    assert {one.error_code for one in missing.responses[0].partitions} == {ErrorCode.UNKNOWN_TOPIC_OR_PARTITION}
    assert read(ask(line, fetch(topic, range(1, count)), 4)) == {i: len(batch(i)) for i in range(1, count)}


@pytest.mark.parametrize("count", COUNTS)
def test_a_long_poll_of_many_ends_with_the_first_records(port: int, count: int) -> None:
    line, topic = Line(port), f"w{count}"
    request = fetch(topic, range(count), wait_ms=600_000)
    got: list[bytes] = []
    frame = encode_request(request, 12, 7, "client")
    waiting = threading.Thread(target=lambda: got.append(line.exchange(frame)))
    waiting.start()
    ask(Line(port), produce(topic, range(1, 2)), 8)
    waiting.join()
    assert {index for index, size in read(answered(request, 12, got[0])).items() if size} == {1}


@pytest.mark.parametrize("count", [100, 300])
def test_many_batches_without_acknowledgement_are_appended_though_the_client_is_gone(
    tmp_path: Path, count: int
) -> None:
    with InProcessBroker(tmp_path) as broker:
        port = int(broker.bootstrap_servers.rpartition(":")[2])
        Line(port).exchange(encode_request(create(["gone"], count), 5, 7, "c"))
        with socket.create_connection(("127.0.0.1", port)) as one:
            one.sendall(encode_request(produce("gone", range(count), acks=0), 8, 7, "client"))
        line, missing = Line(port), set(range(count))
        while missing:  # the last of them exists in the end
            found = read(ask(line, fetch("gone", range(count), wait_ms=1000), 12))
            missing -= {index for index, size in found.items() if size}


def test_transactional_batches_for_many_are_refused_as_those_for_few(port: int) -> None:
    codes = []
    for count in (2, 100):
        request = produce("t3", range(count))
        data = request.topic_data[0].partition_data
        request.transactional_id = "unknown"
        for one in data:
            one.records = encode_batch(
                [Record(0, clock_ms(), None, b"x", [])],
                producer_id=7,
                producer_epoch=0,
                base_sequence=0,
                is_transactional=True,
            )
        [answers] = ask(Line(port), request, 8).responses
        codes.append({one.error_code for one in answers.partition_responses})
        assert len(answers.partition_responses) == count
    assert codes[0] == codes[1]
    assert ErrorCode.NONE not in codes[0]
