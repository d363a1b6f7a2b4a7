"""Small requests that cost a broker much work, and the topics and groups that they need.

Each of :data:`ROWS` is one line of the table in docs/developers/benchmarks.md: it prepares a broker, then sends the
heavy requests. The broker may serve or refuse a request: answers are not checked here.
"""

import socket
import threading
from collections.abc import Callable
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from uuid import uuid4

from odradek.protocol.codec.header import encode_request
from odradek.protocol.codec.runtime import unsigned_varint
from odradek.protocol.common.wall_clock import clock_ms
from odradek.protocol.messages.configs import DescribeConfigsRequest
from odradek.protocol.messages.fetch import FetchRequest
from odradek.protocol.messages.groups import (
    DescribeGroupsRequest,
    FindCoordinatorRequest,
    JoinGroupRequest,
    OffsetCommitRequest,
    OffsetFetchRequest,
)
from odradek.protocol.messages.metadata import ApiVersionsRequest, MetadataRequest
from odradek.protocol.messages.offsets import ListOffsetsRequest
from odradek.protocol.messages.produce import ProduceRequest
from odradek.protocol.messages.structure import ZERO_UUID, Message
from odradek.protocol.messages.topics import CreateTopicsRequest, DeleteTopicsRequest
from odradek.protocol.records.builder import BatchBuilder, encode_batch
from odradek.protocol.records.compression import CompressionType
from odradek.protocol.records.record import Record

PATIENCE_S = 600.0
HOUR_MS = 3_600_000
TINY = 1_000_000
"""The number of records in a batch that is small only when compressed."""
TINY_BYTES = "10000000"


@dataclass(frozen=True)
class Scale:
    """How large a row is: 1.0 is the size of docs/developers/benchmarks.md."""

    share: float

    def of(self, count: int) -> int:
        """The count at this scale."""
        return max(1, int(count * self.share))


class Heavy:
    """A client that sends heavy requests one after another on one connection."""

    def __init__(self, port: int, patience_s: float = PATIENCE_S) -> None:
        """``patience_s``: how long the client waits for an answer before it closes the connection."""
        self.port = port
        self._patience_s = patience_s
        self._socket: socket.socket | None = None

    def send(self, frame: bytes) -> None:
        """Sends a frame and waits until it is answered, or until the broker closes the connection."""
        if self._socket is None:
            self._socket = socket.create_connection(("127.0.0.1", self.port), timeout=self._patience_s)
        with suppress(ConnectionError, TimeoutError):
            self._socket.sendall(frame)
            if self._skip(int.from_bytes(self._read(4))):
                return
        self.close()

    def answer(self, frame: bytes) -> bytes:
        """Sends a frame; returns the answer without its size. Raises ConnectionError if the broker refuses it."""
        if self._socket is None:
            self._socket = socket.create_connection(("127.0.0.1", self.port), timeout=self._patience_s)
        self._socket.sendall(frame)
        return self._read(int.from_bytes(self._read(4)))

    def ask(self, request: Message, version: int) -> None:
        """Sends a request and waits as :meth:`send`."""
        self.send(encode_request(request, version, 7, "heavy"))

    def close(self) -> None:
        """Closes the connection; the next request opens another one."""
        if self._socket is not None:
            self._socket.close()
            self._socket = None

    def _read(self, size: int) -> bytes:
        data = b""
        assert self._socket is not None
        while len(data) < size:
            received = self._socket.recv(size - len(data))
            if not received:
                raise ConnectionError
            data += received
        return data

    def _skip(self, size: int) -> bool:
        assert self._socket is not None
        while size:
            received = len(self._socket.recv(min(size, 1 << 20)))
            if not received:
                return False
            size -= received
        return True


def tiny_records(count: int, timestamp_ms: int) -> bytes:
    """A gzip batch of records without key and value: 9 bytes each, about 1.3 compressed."""
    builder = BatchBuilder(compression=CompressionType.GZIP)
    for _ in range(count):
        builder.append(timestamp_ms, None, None)
    return builder.build()


def produce(topic: str, batch: bytes) -> Message:
    """A Produce request of one batch to partition 0."""
    data = [ProduceRequest.PartitionProduceData(0, batch)]
    return ProduceRequest(None, -1, 60_000, [ProduceRequest.TopicProduceData(topic, ZERO_UUID, data)])


def create(topics: list[str], partitions: int = 1, **configs: str) -> Message:
    """A CreateTopics request."""
    config = CreateTopicsRequest.CreatableTopicConfig
    given = [config(key.replace("_", "."), value) for key, value in configs.items()]
    return CreateTopicsRequest(
        [CreateTopicsRequest.CreatableTopic(name, partitions, 1, [], given) for name in topics], 60_000
    )


def delete(topics: list[str]) -> Message:
    """A DeleteTopics request by name."""
    states = [DeleteTopicsRequest.DeleteTopicState(name, ZERO_UUID) for name in topics]
    return DeleteTopicsRequest(topics=states, timeout_ms=60_000)


def short_names(count: int) -> list[str]:
    """Names of one byte."""
    return [chr(97 + number % 26) for number in range(count)]


Prepared = Callable[[], None]
"""Sends the heavy requests of a prepared row."""
Row = Callable[[int, Scale], Prepared]
"""Prepares the broker on a port, and returns what sends the heavy requests."""


def _row_tiny_produce(port: int, scale: Scale) -> Prepared:
    heavy = Heavy(port)
    heavy.ask(create(["tiny"], max_message_bytes=TINY_BYTES), 5)
    batch = tiny_records(scale.of(TINY), clock_ms() + 10 * HOUR_MS)
    return lambda: heavy.ask(produce("tiny", batch), 8)


def _row_tiny_compacted(port: int, scale: Scale) -> Prepared:
    heavy = Heavy(port)
    heavy.ask(create(["keyless"], cleanup_policy="compact", max_message_bytes=TINY_BYTES), 5)
    batch = tiny_records(scale.of(TINY), clock_ms())
    return lambda: heavy.ask(produce("keyless", batch), 8)


def _stored_tiny(port: int, scale: Scale) -> Heavy:
    heavy = Heavy(port)
    heavy.ask(create(["stored"], max_message_bytes=TINY_BYTES), 5)
    heavy.ask(produce("stored", tiny_records(scale.of(TINY), clock_ms())), 8)
    return heavy


def _row_old_fetch(port: int, scale: Scale) -> Prepared:
    heavy = _stored_tiny(port, scale)
    wanted = FetchRequest.FetchPartition(partition=0, fetch_offset=0, partition_max_bytes=1 << 20)
    request = FetchRequest(topics=[FetchRequest.FetchTopic("stored", ZERO_UUID, [wanted])], max_wait_ms=0, min_bytes=0)
    return lambda: heavy.ask(request, 2)


def _row_list_offsets(port: int, scale: Scale) -> Prepared:
    heavy = _stored_tiny(port, scale)
    wanted = ListOffsetsRequest.ListOffsetsPartition(partition_index=0, timestamp=clock_ms() - HOUR_MS)
    request = ListOffsetsRequest(-1, 0, [ListOffsetsRequest.ListOffsetsTopic("stored", [wanted])])
    return lambda: heavy.ask(request, 5)


def _row_describe_groups(port: int, scale: Scale) -> Prepared:
    heavy = Heavy(port)
    frame = encode_request(DescribeGroupsRequest(short_names(scale.of(700_000))), 5, 7, "heavy")
    return lambda: heavy.send(frame)


def _row_find_coordinator(port: int, scale: Scale) -> Prepared:
    heavy = Heavy(port)
    request = FindCoordinatorRequest(key_type=0, coordinator_keys=short_names(scale.of(700_000)))
    frame = encode_request(request, 4, 7, "heavy")
    return lambda: heavy.send(frame)


def _row_offset_fetch(port: int, scale: Scale) -> Prepared:
    heavy = Heavy(port)
    group = OffsetFetchRequest.OffsetFetchRequestGroup
    request = OffsetFetchRequest(groups=[group(name, topics=[]) for name in short_names(scale.of(300_000))])
    frame = encode_request(request, 8, 7, "heavy")
    return lambda: heavy.send(frame)


def _row_create_names(port: int, scale: Scale) -> Prepared:
    heavy = Heavy(port)
    frame = encode_request(create(short_names(scale.of(120_000))), 5, 7, "heavy")
    return lambda: heavy.send(frame)


def _row_delete_names(port: int, scale: Scale) -> Prepared:
    heavy = Heavy(port)
    frame = encode_request(DeleteTopicsRequest(topic_names=short_names(scale.of(500_000)), timeout_ms=1), 4, 7, "heavy")
    return lambda: heavy.send(frame)


def _row_metadata_names(port: int, scale: Scale) -> Prepared:
    heavy = Heavy(port)
    names = [MetadataRequest.MetadataRequestTopic(name=f"{number:x}") for number in range(scale.of(200_000))]
    frame = encode_request(MetadataRequest(names, allow_auto_topic_creation=False), 9, 7, "heavy")
    return lambda: heavy.send(frame)


def _row_tagged_fields(port: int, scale: Scale) -> Prepared:
    """An ApiVersions request whose 1 MB is unknown tagged fields of one byte each."""
    heavy = Heavy(port)
    plain = encode_request(ApiVersionsRequest("heavy", "1"), 3, 7, "heavy")[4:]
    count = scale.of(250_000)
    fields = b"".join(unsigned_varint(1_000 + number) + b"\x01x" for number in range(count))
    body = plain[:-1] + unsigned_varint(count) + fields
    frame = len(body).to_bytes(4) + body
    return lambda: heavy.send(frame)


def _row_committed_offsets(port: int, scale: Scale) -> Prepared:
    """Deletes a topic for which groups have committed 300,000 offsets."""
    heavy = Heavy(port)
    partitions = scale.of(3_000)
    heavy.ask(create(["committed"], partitions), 5)
    partition = OffsetCommitRequest.OffsetCommitRequestPartition
    for number in range(100):
        committed = [partition(partition_index=index, committed_offset=0) for index in range(partitions)]
        topics = [OffsetCommitRequest.OffsetCommitRequestTopic("committed", ZERO_UUID, committed)]
        heavy.ask(OffsetCommitRequest(f"group-{number}", -1, "", None, -1, topics), 7)
    return lambda: heavy.ask(delete(["committed"]), 6)


def _row_create_partitions(port: int, scale: Scale) -> Prepared:
    heavy = Heavy(port)
    return lambda: heavy.ask(create(["wide"], scale.of(9_999)), 5)


def _row_delete_partitions(port: int, scale: Scale) -> Prepared:
    heavy = Heavy(port)
    heavy.ask(create(["wide"], scale.of(9_999)), 5)
    return lambda: heavy.ask(delete(["wide"]), 6)


def _row_create_topics(port: int, scale: Scale) -> Prepared:
    heavy = Heavy(port)
    return lambda: heavy.ask(create([f"topic-{number}" for number in range(scale.of(1_000))]), 5)


def _row_describe_configs(port: int, scale: Scale) -> Prepared:
    heavy = Heavy(port)
    names = [f"topic-{number}" for number in range(scale.of(5_000))]
    for first in range(0, len(names), 500):
        heavy.ask(create(names[first : first + 500]), 5)
    resource = DescribeConfigsRequest.DescribeConfigsResource
    request = DescribeConfigsRequest([resource(2, name, None) for name in names], include_synonyms=True)
    return lambda: heavy.ask(request, 4)


def _row_metadata_of_all(port: int, scale: Scale) -> Prepared:
    heavy = Heavy(port)
    for number in range(3):
        heavy.ask(create([f"wide-{number}"], scale.of(5_000)), 5)

    def ask() -> None:
        with ExitStack() as stack:
            for _ in range(20):
                one = Heavy(port)
                stack.callback(one.close)
                thread = threading.Thread(target=one.ask, args=(MetadataRequest(None), 9))
                thread.start()
                stack.callback(thread.join)

    return ask


def _row_recompression(port: int, scale: Scale) -> Prepared:
    heavy = Heavy(port)
    size = scale.of(90_000_000)
    heavy.ask(create(["gzipped"], compression_type="gzip", max_message_bytes="100000000"), 5)
    value = b"".join(uuid4().bytes for _ in range(4_096))
    values = [value * 15] * max(1, size // (15 * len(value)))
    batch = encode_batch([Record(number, clock_ms(), None, value, []) for number, value in enumerate(values)])
    frame = encode_request(produce("gzipped", batch), 8, 7, "heavy")
    return lambda: heavy.send(frame)


def _row_join_groups(port: int, scale: Scale) -> Prepared:
    metadata = bytes(scale.of(20_000_000))
    protocol = JoinGroupRequest.JoinGroupRequestProtocol("range", metadata)

    def join() -> None:
        clients = [Heavy(port) for _ in range(40)]
        for number, client in enumerate(clients):
            client.ask(JoinGroupRequest(f"fat-{number}", 30_000, 30_000, "", None, "consumer", [protocol]), 3)
        for client in clients:
            client.close()

    return join


def _wide(port: int, scale: Scale) -> tuple[Heavy, range]:
    """A topic of 9,999 partitions, and the partitions to request: 25,000 more than exist."""
    heavy = Heavy(port)
    heavy.ask(create(["wide"], scale.of(9_999)), 5)
    return heavy, range(scale.of(35_000))


def _fetch(indexes: range, session_id: int, epoch: int) -> Message:
    wanted = [FetchRequest.FetchPartition(partition=index, partition_max_bytes=1 << 20) for index in indexes]
    topics = [FetchRequest.FetchTopic("wide", ZERO_UUID, wanted)]
    return FetchRequest(topics=topics, max_wait_ms=0, session_id=session_id, session_epoch=epoch, max_bytes=50 << 20)


def _row_fetch(port: int, scale: Scale) -> Prepared:
    heavy, indexes = _wide(port, scale)
    frame = encode_request(_fetch(indexes, 0, -1), 12, 7, "heavy")
    return lambda: heavy.send(frame)


def _row_fetch_session(port: int, scale: Scale) -> Prepared:
    """Opens a fetch session and continues it with requests that name no partition."""
    heavy, indexes = _wide(port, scale)
    opening = encode_request(_fetch(indexes, 0, 0), 12, 7, "heavy")

    def go_on() -> None:
        response = heavy.answer(opening)
        # correlation id, no tagged fields of the header, throttle time, error code, session id
        session_id = int.from_bytes(response[11:15])
        assert session_id
        for epoch in range(1, 6):
            request = FetchRequest(topics=[], max_wait_ms=0, session_id=session_id, session_epoch=epoch)
            heavy.ask(request, 12)

    return go_on


def _row_produce(port: int, scale: Scale) -> Prepared:
    heavy, indexes = _wide(port, scale)
    batch = encode_batch([Record(0, clock_ms(), None, b"small", [])])
    data = [ProduceRequest.PartitionProduceData(index, batch) for index in indexes[: scale.of(9_999)]]
    request = ProduceRequest(None, -1, 60_000, [ProduceRequest.TopicProduceData("wide", ZERO_UUID, data)])
    frame = encode_request(request, 8, 7, "heavy")
    return lambda: heavy.send(frame)


ROWS: dict[str, Row] = {
    "Produce of 1,000,000 tiny records, 10 h ahead": _row_tiny_produce,
    "the same without keys to a compacted topic": _row_tiny_compacted,
    "Fetch version 2 of 1,000,000 tiny records": _row_old_fetch,
    "ListOffsets by time in 1,000,000 tiny records": _row_list_offsets,
    "DescribeGroups of 700,000 one-byte names": _row_describe_groups,
    "FindCoordinator of 700,000 one-byte names": _row_find_coordinator,
    "OffsetFetch of 300,000 groups": _row_offset_fetch,
    "CreateTopics of 120,000 one-byte names": _row_create_names,
    "DeleteTopics of 500,000 one-byte names": _row_delete_names,
    "Metadata of 200,000 unknown names": _row_metadata_names,
    "ApiVersions with 250,000 unknown tagged fields": _row_tagged_fields,
    "deletion of a topic with 300,000 committed offsets": _row_committed_offsets,
    "creation of a topic of 9,999 partitions": _row_create_partitions,
    "deletion of a topic of 9,999 partitions": _row_delete_partitions,
    "creation of 1,000 topics in one request": _row_create_topics,
    "DescribeConfigs of 5,000 topics": _row_describe_configs,
    "Metadata of 15,000 partitions, 20 times": _row_metadata_of_all,
    "a 90 MB batch into a topic of compression.type=gzip": _row_recompression,
    "40 JoinGroups with 20 MB of metadata": _row_join_groups,
    "Fetch of 35,000 partitions": _row_fetch,
    "five Fetches of a session with 35,000 partitions": _row_fetch_session,
    "Produce to 9,999 partitions": _row_produce,
}
