"""Requests a second with 10,000 ACLs: ours and a real Kafka in turn, the same bytes from the same client.

    PYTHONPATH=tests:bench .venv/bin/python bench/acls.py [--acls 10000] [--rounds 3]

Eight connections have 50 requests in flight each. The requests are encoded once and the answers only counted, so that
the broker is what takes the time. Both serve once without an authorizer and once with the ACLs. The best of the rounds
is printed, and the processor time of the broker's process for each request.
"""

import argparse
import selectors
import socket
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from odradek.protocol.codec.header import encode_request
from odradek.protocol.messages.metadata import MetadataRequest
from odradek.protocol.messages.offsets import ListOffsetsRequest
from odradek.protocol.messages.security import CreateAclsRequest
from odradek.protocol.messages.structure import Message
from odradek.protocol.messages.topics import CreateTopicsRequest
from odradek.protocol.security.acl import ANONYMOUS, AclOperation, AclPermission, AclResourceType, PatternType
from support.brokers.our_broker import OurBroker
from support.brokers.processor_time import cpu_seconds
from support.kafka.real_kafka import RealKafka

AUTHORIZER = {
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "allow.everyone.if.no.acl.found": "true",  # else no client could create the first ACL
}
TOPIC = "orders"
CONNECTIONS, IN_FLIGHT = 8, 50
ACLS_A_REQUEST = 2_000
SECONDS = 3.0

REQUESTS: dict[str, tuple[Message, int]] = {
    "ListOffsets of one partition": (
        ListOffsetsRequest(
            -1, 0, [ListOffsetsRequest.ListOffsetsTopic(TOPIC, [ListOffsetsRequest.ListOffsetsPartition(0, -1, -1)])]
        ),
        7,
    ),
    "Metadata of one topic": (MetadataRequest([MetadataRequest.MetadataRequestTopic(bytes(16), TOPIC)]), 12),
}


def acls(count: int) -> Iterator[CreateAclsRequest.AclCreation]:
    """Most are about other users and topics; those of the client come last, and two more match its topic."""
    creation = CreateAclsRequest.AclCreation
    topic, allow = AclResourceType.TOPIC, AclPermission.ALLOW
    for number in range(count - 4):
        kind = PatternType.PREFIXED if number % 10 == 0 else PatternType.LITERAL
        operation = AclOperation.READ if number % 2 else AclOperation.WRITE
        yield creation(topic, f"topic-{number // 2}", kind, f"User:u{number % 500}", "*", operation, allow)
    yield creation(topic, TOPIC, PatternType.LITERAL, "User:bob", "*", AclOperation.ALL, AclPermission.DENY)
    yield creation(topic, "ord", PatternType.PREFIXED, "User:carol", "*", AclOperation.ALL, allow)
    yield creation(topic, TOPIC, PatternType.LITERAL, ANONYMOUS, "*", AclOperation.READ, allow)
    yield creation(
        AclResourceType.CLUSTER, "kafka-cluster", PatternType.LITERAL, ANONYMOUS, "*", AclOperation.ALL, allow
    )


class Line:
    """One connection: what it sends again and again, and how many answers have come."""

    def __init__(self, port: int) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=60)
        self.answers = 0
        self._data = bytearray()

    def ask(self, request: Message, version: int) -> None:
        """One request, and its answer."""
        self.socket.sendall(encode_request(request, version, 7, "bench"))
        before = self.answers
        while self.answers == before:
            self.read()

    def read(self) -> None:
        """Counts the answers that are there."""
        data = self.socket.recv(1 << 18)
        assert data, "the broker closed the connection"
        self._data += data
        position = 0
        while len(self._data) - position >= 4:
            end = position + 4 + int.from_bytes(self._data[position : position + 4], "big")
            if end > len(self._data):
                break
            position, self.answers = end, self.answers + 1
        del self._data[:position]


def rate(port: int, pid: int, request: Message, version: int) -> tuple[float, float]:
    """Requests a second, and microseconds of the broker's processor time for each."""
    frames = encode_request(request, version, 7, "bench") * IN_FLIGHT
    lines = [Line(port) for _ in range(CONNECTIONS)]
    with selectors.DefaultSelector() as selector:
        for line in lines:
            selector.register(line.socket, selectors.EVENT_READ, line)
            line.socket.sendall(frames)
        begin, cpu = time.perf_counter(), cpu_seconds(pid)
        while time.perf_counter() - begin < SECONDS:
            for key, _ in selector.select():
                before = key.data.answers // IN_FLIGHT
                key.data.read()
                if key.data.answers // IN_FLIGHT > before:
                    key.data.socket.sendall(frames)
        took = time.perf_counter() - begin
        used = cpu_seconds(pid) - cpu
    count = sum(line.answers for line in lines)
    for line in lines:
        line.socket.close()
    return count / took, used / count * 1e6


def measure(broker: OurBroker | RealKafka, count: int) -> dict[str, tuple[float, float]]:
    """The rates of each request, after a warm-up."""
    line = Line(broker.port)
    line.ask(CreateTopicsRequest([CreateTopicsRequest.CreatableTopic(TOPIC, 1, 1)], 30_000), 7)
    wanted = list(acls(count)) if count else []
    for first in range(0, len(wanted), ACLS_A_REQUEST):
        line.ask(CreateAclsRequest(wanted[first : first + ACLS_A_REQUEST]), 3)
    line.socket.close()
    pid = broker.running_pid
    assert pid is not None
    for request, version in REQUESTS.values():
        rate(broker.port, pid, request, version)
    suffix = f", {count} ACLs" if count else ", no authorizer"
    return {name + suffix: rate(broker.port, pid, *one) for name, one in REQUESTS.items()}


def main() -> int:
    """Measures both in turn, and prints rows for docs/developers/benchmarks.md."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--acls", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    best: dict[str, dict[str, tuple[float, float]]] = {}
    with tempfile.TemporaryDirectory(prefix="odradek-bench-") as place:
        for number in range(arguments.rounds):
            for count in (0, arguments.acls):
                keys = AUTHORIZER if count else {}
                for name, kind in (("Odradek", OurBroker), ("Kafka", RealKafka)):
                    directory = Path(place) / f"{name}-{number}-{count}"
                    directory.mkdir()
                    with kind(directory, keys) as broker:
                        for what, (each, cost) in measure(broker, count).items():
                            rates, costs = best.setdefault(what, {}).get(name, (0.0, float("inf")))
                            best[what][name] = max(rates, each), min(costs, cost)
    for what, sides in best.items():
        (ours, our_cost), (theirs, their_cost) = sides["Odradek"], sides["Kafka"]
        ratios = f"{ours / theirs:.2f} | {our_cost:.0f} | {their_cost:.0f} | {our_cost / their_cost:.2f}"
        print(f"| {what} | {ours:,.0f} | {theirs:,.0f} | {ratios} |")
    return 0


if __name__ == "__main__":
    sys.exit(main())
