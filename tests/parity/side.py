"""One of the two brokers in a fixed test case. A scene runs the same steps on Odradek and on Kafka."""

import contextlib
import socket
import struct
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from answers.recording import Recording
from odradek.protocol.codec import decode
from odradek.protocol.codec.header import encode_request, response_header_version
from odradek.protocol.messages import message_class
from odradek.protocol.messages.fetch import FetchRequest
from odradek.protocol.messages.groups import FindCoordinatorRequest, OffsetFetchRequest
from odradek.protocol.messages.metadata import MetadataRequest
from odradek.protocol.messages.offsets import ListOffsetsRequest
from odradek.protocol.messages.produce import ProduceRequest
from odradek.protocol.messages.structure import Message
from odradek.protocol.messages.topics import CreateTopicsRequest
from odradek.protocol.messages.transactions import InitProducerIdRequest
from odradek.protocol.records.batch import iterate_headers
from odradek.protocol.records.builder import encode_batch
from odradek.protocol.records.record import Record, decode_records
from odradek.protocol.show.message_documents import document
from parity.two_brokers import TwoBrokers
from parity.world import ZERO_UUID, comparable
from support.kafka.wire import Answer, Line

BASE_TIME_MS = 1_700_000_000_000
DEADLINE_S = 60.0


class Side:
    """One broker. Requests are encoded by Apache Kafka's classes, by our codec, or given as bytes."""

    def __init__(self, wire: Line, port: int, is_ours: bool, recording: Recording | None = None) -> None:
        self.wire = wire
        self.port = port
        self.is_ours = is_ours
        self.recording = recording
        self.topic_ids: dict[str, bytes] = {}

    # Requests.

    def answer(self, request: Message, version: int, connection: str = "main") -> Answer:
        """Sends a request. Returns the answer with its body, or with the end of the connection."""
        answer = self.wire.ask(self.port, request, version, connection)
        if self.recording is not None:
            self.recording.asked(connection, "wire", request, version, answer)
        return answer

    def ask(self, request: Message, version: int, connection: str = "main") -> Any:
        """Sends a request. Returns the body of the answer; asserts that there is one."""
        answer = self.answer(request, version, connection)
        assert "body" in answer, f"{request.NAME} version {version} to {'ours' if self.is_ours else 'Kafka'}: {answer}"
        return answer["body"]

    def send(self, request: Message, version: int, connection: str) -> None:
        """Sends a request without waiting for its answer."""
        self.wire.send(self.port, request, version, connection)
        if self.recording is not None:
            self.recording.sent(connection, request, version)

    def receive(self, connection: str) -> Any:
        """The body of the next answer on a connection."""
        answer = self.wire.receive(self.port, connection)
        if self.recording is not None:
            self.recording.received(connection, answer)
        assert "body" in answer, answer
        return answer["body"]

    def exchange(self, data: bytes, answers: int = 1, *, then_close: bool = False) -> list[bytes]:
        """Sends bytes on a new connection. Returns the answered frames, fewer if the broker closes it."""
        frames = self._exchange(data, answers, then_close)
        if self.recording is not None:
            self.recording.exchanged(data, answers, then_close, frames)
        return frames

    def _exchange(self, data: bytes, answers: int, then_close: bool) -> list[bytes]:
        with socket.create_connection(("127.0.0.1", self.port), timeout=DEADLINE_S) as opened:
            opened.sendall(data)
            if then_close:
                opened.shutdown(socket.SHUT_WR)
            frames = []
            with contextlib.suppress(ConnectionResetError, EOFError):
                for _ in range(answers):
                    size = struct.unpack(">i", _exactly(opened, 4))[0]
                    frames.append(_exactly(opened, size))
            return frames

    def raw(
        self, request: Message, version: int, client_id: str | None = "raw", *, is_recorded: bool = True
    ) -> Message:
        """Sends a request through our codec, which keeps the bytes of records. Asserts that there is an answer."""
        frames = self._exchange(encode_request(request, version, 7, client_id), 1, then_close=False)
        assert frames, f"{request.NAME} version {version}: the connection was closed"
        position = 4 + response_header_version(request.API_KEY, version)
        response_class = message_class(request.NAME.replace("Request", "Response"))
        response: Message = decode(response_class, version, frames[0], position)[0]
        if self.recording is not None and is_recorded:
            ignored = ("configs",) if isinstance(request, CreateTopicsRequest) else ()
            answer = {"body": document(response, version)}
            self.recording.asked("raw", client_id or "", request, version, answer, ignored)
        return response

    # Steps of scenes.

    def _repeated(self) -> contextlib.AbstractContextManager[None]:
        return contextlib.nullcontext() if self.recording is None else self.recording.repeated()

    def topic(self, name: str, partitions: int = 1, configs: Mapping[str, str] | None = None) -> str:
        """Creates a topic without retention, and waits until each partition has a leader."""
        wanted = {"retention.ms": "-1", **(configs or {})}
        topic_configs = [CreateTopicsRequest.CreatableTopicConfig(key, value) for key, value in wanted.items()]
        creatable = CreateTopicsRequest.CreatableTopic(name, partitions, 1, [], topic_configs)
        deadline = time.monotonic() + DEADLINE_S
        with self._repeated():
            while True:
                response = self.raw(CreateTopicsRequest([creatable], 10_000), 7)
                created = response.topics[0]  # type: ignore[attr-defined]
                if created.error_code != 36 or time.monotonic() > deadline:  # one of this name is still being deleted
                    break
        assert created.error_code == 0, created
        self.topic_ids[name] = created.topic_id
        self.wait_for_leaders(name, partitions)
        return name

    def learn_ids(self, *names: str) -> None:
        """Learns the ids of the named topics; without names, of all topics."""
        topics = [MetadataRequest.MetadataRequestTopic(name=name) for name in names]
        response = self.raw(MetadataRequest(topics=topics or None), 12, is_recorded=False)
        self.topic_ids = {topic.name: topic.topic_id for topic in response.topics}  # type: ignore[attr-defined]

    def wait_for_leaders(self, name: str, partitions: int) -> None:
        """Waits until the leader of every partition of a topic answers."""
        wanted = [
            ListOffsetsRequest.ListOffsetsPartition(partition_index=index, timestamp=-1) for index in range(partitions)
        ]
        request = ListOffsetsRequest(-1, 0, [ListOffsetsRequest.ListOffsetsTopic(name, wanted)])
        deadline = time.monotonic() + DEADLINE_S
        with self._repeated():
            while any(p["errorCode"] for p in self.ask(request, 1)["topics"][0]["partitions"]):
                assert time.monotonic() < deadline, f"{name} is not led"

    def end_offset(self, topic: str, partition: int) -> int:
        """The log end offset of a partition."""
        wanted = ListOffsetsRequest.ListOffsetsPartition(partition_index=partition, timestamp=-1)
        body = self.ask(ListOffsetsRequest(-1, 0, [ListOffsetsRequest.ListOffsetsTopic(topic, [wanted])]), 1)
        return int(body["topics"][0]["partitions"][0]["offset"])

    def group(self, name: str) -> str:
        """Waits until the group's coordinator serves it. Returns the group's name."""
        deadline = time.monotonic() + DEADLINE_S
        with self._repeated():
            while (
                self.ask(FindCoordinatorRequest(name), 2)["errorCode"]
                or self.ask(OffsetFetchRequest(name), 7)["errorCode"]
            ):
                assert time.monotonic() < deadline, f"no coordinator of {name}"
        return name

    def produce(
        self, topic: str, records: bytes | None, *, partition: int = 0, acks: int = -1, version: int = 9
    ) -> Any:
        """Produces to a partition. Returns the partition's answer."""
        body = self.ask(produce_request(topic, records, partition=partition, acks=acks), version)
        return body["responses"][0]["partitionResponses"][0]

    def producer_id(self) -> tuple[int, int]:
        """The id and epoch of a new idempotent producer."""
        deadline = time.monotonic() + DEADLINE_S
        with self._repeated():
            while (body := self.ask(InitProducerIdRequest(None, 1000), 0))["errorCode"]:  # until it has a block of ids
                assert time.monotonic() < deadline, body
        return body["producerId"], body["producerEpoch"]

    def fetch(self, topic: str, offset: int, *, version: int = 12, **fields: Any) -> Any:
        """Fetches one partition without a session. Returns the body."""
        return self.ask(fetch_request([self.wanted(topic, offset, **fields.pop("partition", {}))], **fields), version)

    def batches(self, topic: str, offset: int = 0, partition: int = 0) -> list[dict[str, Any]]:
        """The stored batches from an offset on, as the bytes of a fetch contain them."""
        request = fetch_request([self.wanted(topic, offset, partition=partition)])
        data = bytes(self.raw(request, 12).responses[0].partitions[0].records)  # type: ignore[attr-defined]
        return [
            {
                "offsets": (header.base_offset, header.last_offset),
                "attributes": header.attributes,
                "producer": (header.producer_epoch, header.base_sequence),
                "leaderEpoch": header.partition_leader_epoch,
                "size": header.size_in_bytes,
                "records": [
                    (record.offset, record.key, record.value, record.headers)
                    for record in decode_records(data, header, position)
                ],
            }
            for position, header in iterate_headers(data)
        ]

    def wanted(self, topic: str, offset: int = 0, **fields: Any) -> FetchRequest.FetchTopic:
        """One partition of a Fetch request. ``fields`` are named as in Kafka's FetchPartition."""
        partition = FetchRequest.FetchPartition(**{"fetch_offset": offset, "partition_max_bytes": 1 << 20, **fields})
        return FetchRequest.FetchTopic(topic, self.topic_ids.get(topic, ZERO_UUID), [partition])


def _exactly(opened: socket.socket, size: int) -> bytes:
    data = b""
    while len(data) < size:
        received = opened.recv(size - len(data))
        if not received:
            raise EOFError
        data += received
    return data


def frame(api_key: int, version: int, body: bytes = b"", *, flexible: bool = False) -> bytes:
    """The frame of a request with any API key and version, beginning with its size."""
    head = struct.pack(">hhih", api_key, version, 77, 3) + b"raw" + (b"\0" if flexible else b"")
    return struct.pack(">i", len(head) + len(body)) + head + body


def fetch_request(topics: Sequence[FetchRequest.FetchTopic], **fields: Any) -> FetchRequest:
    """A Fetch request. It does not wait, unless ``fields`` set a wait time."""
    return FetchRequest(**{"topics": list(topics), "max_wait_ms": 0, "min_bytes": 0, "max_bytes": 1 << 20, **fields})


def produce_request(
    topic: str, records: bytes | None, *, partition: int = 0, acks: int = -1, topic_id: bytes = ZERO_UUID
) -> ProduceRequest:
    """A Produce request for one partition."""
    data = ProduceRequest.TopicProduceData(topic, topic_id, [ProduceRequest.PartitionProduceData(partition, records)])
    return ProduceRequest(None, acks, 10_000, [data])


def batch(*times: int, key: bytes | None = b"k", size: int = 3, **fields: Any) -> bytes:
    """A batch with one record for each time (ms after BASE_TIME_MS). ``fields`` are those of ``encode_batch``."""
    records = [Record(i, BASE_TIME_MS + at, key, b"%d" % i * size, [("h", b"v")]) for i, at in enumerate(times)]
    return encode_batch(records, **fields)


def same(both: TwoBrokers, scene: Callable[[Side], Any]) -> Any:
    """Plays a scene on Odradek and on Kafka. Asserts that the results are equal, and returns them.

    During a recording, plays it on Kafka alone.
    """
    kafka = comparable(scene(Side(both.wire, both.kafka.port, False, both.recording)))
    if both.recording is not None:
        return kafka
    ours = comparable(scene(Side(both.wire, both.ours.port, True)))
    assert ours == kafka, f"\nours:  {ours}\nKafka: {kafka}"
    return ours
