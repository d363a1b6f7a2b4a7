"""Sends requests to a broker with our own codec, each on a connection of its own, for tests that need no client."""

import socket
import struct
from typing import Any

from odradek.protocol.codec import decode
from odradek.protocol.codec.header import encode_request, response_header_version
from odradek.protocol.messages import message_class
from odradek.protocol.messages.fetch import FetchRequest
from odradek.protocol.messages.log_dirs import AlterReplicaLogDirsRequest, DescribeLogDirsRequest
from odradek.protocol.messages.metadata import MetadataRequest
from odradek.protocol.messages.offsets import ListOffsetsRequest
from odradek.protocol.messages.produce import ProduceRequest
from odradek.protocol.messages.structure import ZERO_UUID, Message
from odradek.protocol.messages.topics import CreateTopicsRequest
from odradek.protocol.records.batch import iterate_headers
from odradek.protocol.records.builder import encode_batch
from odradek.protocol.records.record import Record, decode_records

PATIENCE_S = 30.0
NOW_MS = 1_700_000_000_000


class Asking:
    """Sends requests to the broker on a port of 127.0.0.1."""

    def __init__(self, port: int, patience_s: float = PATIENCE_S) -> None:
        self.port = port
        self._patience_s = patience_s

    def ask(self, request: Message, version: int) -> Any:
        """Sends a request, and returns the response. Raises OSError if there is none."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=self._patience_s) as opened:
            opened.sendall(encode_request(request, version, 7, "asking"))
            size = struct.unpack(">i", _exactly(opened, 4))[0]
            frame = _exactly(opened, size)
        response_class = message_class(request.NAME.replace("Request", "Response"))
        return decode(response_class, version, frame, 4 + response_header_version(request.API_KEY, version))[0]

    def names_a_broker(self) -> bool:
        """Whether the broker answers Metadata and names at least one broker: one that is not ready yet names none.

        A connection alone proves nothing: Docker's proxy accepts it before there is a broker.
        """
        try:
            return bool(self.ask(MetadataRequest(topics=None), 1).brokers)
        except OSError:
            return False

    def create(self, topic: str, partitions: int, **configs: str) -> int:
        """Creates a topic; returns the error code."""
        config = CreateTopicsRequest.CreatableTopicConfig
        given = [config(key.replace("_", "."), value) for key, value in configs.items()]
        request = CreateTopicsRequest([CreateTopicsRequest.CreatableTopic(topic, partitions, 1, [], given)], 10_000)
        return int(self.ask(request, 7).topics[0].error_code)

    def produce(self, topic: str, partition: int, *values: bytes, acks: int = -1) -> int:
        """Appends one batch; returns the error code."""
        batch = encode_batch([Record(i, NOW_MS, b"k", value, []) for i, value in enumerate(values)])
        data = ProduceRequest.TopicProduceData(
            topic, ZERO_UUID, [ProduceRequest.PartitionProduceData(partition, batch)]
        )
        return int(
            self.ask(ProduceRequest(None, acks, 10_000, [data]), 9).responses[0].partition_responses[0].error_code
        )

    def fetch(self, topic: str, partition: int, offset: int = 0) -> tuple[int, list[bytes]]:
        """The error code and the values from an offset on."""
        values: list[bytes] = []
        while True:
            wanted = FetchRequest.FetchPartition(partition=partition, fetch_offset=offset, partition_max_bytes=1 << 20)
            request = FetchRequest(
                topics=[FetchRequest.FetchTopic(topic, ZERO_UUID, [wanted])], max_wait_ms=0, min_bytes=0
            )
            answer = self.ask(request, 12).responses[0].partitions[0]
            data = bytes(answer.records or b"")
            found = [
                record
                for position, header in iterate_headers(data)
                for record in decode_records(data, header, position)
                if record.offset >= offset
            ]
            if answer.error_code or not found:
                return int(answer.error_code), values
            values += [record.value or b"" for record in found]
            offset = found[-1].offset + 1

    def end_offset(self, topic: str, partition: int) -> tuple[int, int]:
        """The error code and the log end offset."""
        wanted = ListOffsetsRequest.ListOffsetsPartition(partition_index=partition, timestamp=-1)
        request = ListOffsetsRequest(-1, 0, [ListOffsetsRequest.ListOffsetsTopic(topic, [wanted])])
        answer = self.ask(request, 5).topics[0].partitions[0]
        return int(answer.error_code), int(answer.offset)

    def partition(self, topic: str, partition: int) -> tuple[int, int, list[int], list[int]]:
        """A partition in the answer to Metadata: error code, leader, replicas in sync, offline replicas."""
        request = MetadataRequest([MetadataRequest.MetadataRequestTopic(name=topic)])
        for one in self.ask(request, 9).topics[0].partitions:
            if one.partition_index == partition:
                return one.error_code, one.leader_id, one.isr_nodes, one.offline_replicas
        raise AssertionError(f"{topic}-{partition} is not there")

    def log_dirs(self) -> dict[str, Any]:
        """DescribeLogDirs of everything, by directory."""
        return {one.log_dir: one for one in self.ask(DescribeLogDirsRequest(None), 5).results}

    def move(self, topic: str, partition: int, path: str) -> int:
        """AlterReplicaLogDirs of one partition; returns the error code."""
        wanted = AlterReplicaLogDirsRequest.AlterReplicaLogDirTopic(topic, [partition])
        request = AlterReplicaLogDirsRequest([AlterReplicaLogDirsRequest.AlterReplicaLogDir(path, [wanted])])
        return int(self.ask(request, 2).results[0].partitions[0].error_code)


def _exactly(opened: socket.socket, size: int) -> bytes:
    data = b""
    while len(data) < size:
        received = opened.recv(size - len(data))
        if not received:
            raise ConnectionAbortedError("the broker closed the connection")
        data += received
    return data
