"""Sends the same requests to Odradek and to a real Kafka, and compares the answers, also the late ones.

A broker parks a request if it answers later. Both brokers must park the same requests: as soon as one answers a
parked request, the other must too. Each broker makes its own ids; they are compared by common names, which are
assigned when an id first appears.
"""

import itertools
import time
from collections.abc import Callable, Sequence
from typing import Any

from odradek.protocol.messages.groups import (
    DescribeGroupsRequest,
    JoinGroupRequest,
    LeaveGroupRequest,
    ListGroupsRequest,
    OffsetFetchRequest,
)
from odradek.protocol.messages.structure import Message
from parity.side import DEADLINE_S
from parity.two_brokers import TwoBrokers
from support.kafka.wire import Answer, Order, receiving, sending

OURS, KAFKA = 0, 1
WITHOUT_MEANING = frozenset({"throttleTimeMs", "errorMessage", "clientHost", "topicId"})
UNORDERED = frozenset({"members", "topics", "partitions", "groups"})
FIRST_REBALANCE_MS = 5
"""The first rebalance of a group ends by a timer that is due at once. Odradek runs it within two milliseconds."""
LOOKS = (DescribeGroupsRequest, ListGroupsRequest, OffsetFetchRequest)


Answered = tuple[str, Message, int, list[Any]]
"""Client, request, version, and the answers of both brokers."""
Learn = Callable[[list[Answered]], None]
"""Called with answers before they are compared, to learn ids from them."""


class InStep:
    """The requests about one group, and those that are parked. A parked request has its own connection."""

    _connections = itertools.count()

    def __init__(self, both: TwoBrokers, group: str, learn: Learn) -> None:
        self.group = group
        self.wire = both.wire
        self.recording = both.recording
        self.ports = (both.ours.port, both.kafka.port)
        self.seen: list[Any] = []
        self.commands: list[str] = []
        self._learn = learn
        self._names: tuple[dict[str, str], dict[str, str]] = ({}, {})
        self._parked: dict[str, tuple[str, Message, int]] = {}
        """Connection -> client, request and version."""
        self._idle: list[str] = [] if self.recording is None else self.recording.idle
        self._recorded: set[str] = set()
        """Connections whose last answer the recording has."""

    def ask(self, who: str, request: Callable[[int], Message], version: int, *, may_park: bool = False) -> Any:
        """Sends a request to both brokers; ``request`` makes it for each. Returns our answer; None if it is parked."""
        connection = self._idle.pop() if self._idle else self._opened()
        sent = [
            sending(port, request(side), version, connection, who or "admin") for side, port in enumerate(self.ports)
        ]
        asked = request(OURS)
        self._parked[connection] = (who, asked, version)
        if self.recording is not None and may_park:
            self.recording.sent(connection, request(KAFKA), version, who or "admin")
        if may_park:
            answered = self._collected(sent, wait_ms=FIRST_REBALANCE_MS if isinstance(asked, JoinGroupRequest) else 0)
            if connection in self._parked:
                answered += self._collected(self._barrier(KAFKA) * 2)
        else:
            *_, ours, kafka = self.wire.all([*sent, *(receiving(port, connection) for port in self.ports)])
            if self.recording is not None:
                self.recording.asked(connection, who or "admin", request(KAFKA), version, kafka)
                self._recorded.add(connection)
            answered = [self._received(connection, ours, kafka)]
            if isinstance(asked, LeaveGroupRequest):
                answered += self._collected()
        self._settle(answered)
        return next((bodies[OURS] for _, one, _, bodies in answered if one is asked), None)

    def _opened(self) -> str:
        """Opens a connection and sends one request over it.

        A broker may read the first request of a new connection after the next request of another connection.
        """
        connection = f"{self.group}-{next(self._connections)}"
        for port in self.ports:
            self.wire.ask(port, DescribeGroupsRequest([self.group]), 5, connection)
        return connection

    def wait_for(self, who: str) -> Any:
        """Waits for the answers to a client's parked request. Returns ours; None if no request is parked."""
        connection = next((connection for connection, one in self._parked.items() if one[0] == who), None)
        if connection is None:
            return None
        answered = [self._received(connection), *self._collected()]
        self._settle(answered)
        return answered[0][3][OURS]

    def _settle(self, answered: list[Answered]) -> None:
        """Learns ids from answers, then compares the answers."""
        self._learn(answered)
        for one in answered:
            self._compare(*one)

    def _collected(self, first: Sequence[Order] = (), *, wait_ms: int = 0) -> list[Answered]:
        """The answers to parked requests that have arrived, the newest request first.

        If one broker has answered, waits for the other. ``first``: orders to run before. ``wait_ms``: how long to
        wait for our answer to the newest request.
        """
        if not self._parked:
            return []
        waiting = [*reversed(self._parked)]
        looks = [receiving(port, connection, 0) for connection in waiting for port in self.ports]
        looks[OURS]["wait"] = wait_ms
        answers = self.wire.all([*first, *self._barrier(OURS), *looks])[-len(looks) :]
        return [
            self._received(connection, ours, kafka)
            for connection, ours, kafka in zip(waiting, answers[::2], answers[1::2], strict=True)
            if "timeout" not in ours or "timeout" not in kafka
        ]

    def _barrier(self, side: int) -> list[Order]:
        """A request that acts as a barrier: after its answer, every earlier request without an answer is parked.

        Both brokers handle the requests of all connections in order (KAFKA_KEYS). A broker may still read an earlier
        request slightly later, and Kafka passes requests between threads, so Kafka gets the barrier twice.
        """
        port = self.ports[side]
        return [sending(port, DescribeGroupsRequest([self.group]), 5, "barrier"), receiving(port, "barrier")]

    def _received(self, connection: str, *known: Answer) -> Answered:
        """Takes the answers of both brokers to a connection's request. ``known``: those that were already received."""
        who, request, version = self._parked.pop(connection)
        bodies = []
        for port, answer in zip(self.ports, known or ({"timeout": True},) * 2, strict=True):
            received = self.wire.receive(port, connection) if "timeout" in answer else answer
            bodies.append(received.get("body", received))
        if self.recording is not None:
            if connection not in self._recorded:
                self.recording.received(connection, received)
            self._recorded.discard(connection)
        self._idle.append(connection)
        return who, request, version, bodies

    def _compare(self, who: str, request: Message, version: int, bodies: list[Any]) -> None:
        ours, kafka = self._both(bodies)
        deadline = time.monotonic() + DEADLINE_S
        while ours != kafka and isinstance(request, LOOKS) and time.monotonic() < deadline:
            # Timers and transaction markers take effect at a time of each broker's own.
            bodies = [self.wire.ask(port, request, version)["body"] for port in self.ports]
            ours, kafka = self._both(bodies)
            if self.recording is not None:
                self.recording.answered_later(request, version, {"body": bodies[KAFKA]})
        asked = f"{who} {request.NAME} version {version}"
        if ours != kafka and self._parked:
            # The answers to other members may be on their way; ids are learnt from them.
            self._settle(self._collected())
            ours, kafka = self._both(bodies)
        assert ours == kafka, f"{asked} after {'; '.join(self.commands)}\nours:  {ours}\nKafka: {kafka}"
        self.seen.append((asked, ours))

    def _both(self, bodies: list[Any]) -> list[Any]:
        return [self._comparable(side, body) for side, body in enumerate(bodies)]

    def name(self, name: str, ours: str, kafka: str) -> None:
        """Assigns a common name to our id and Kafka's id of the same thing."""
        self._names[OURS][ours] = self._names[KAFKA][kafka] = f"{name}{len(self._names[OURS])}"

    def real(self, side: int, name: str) -> str:
        """The id that one broker has for a common name; the name itself if it has none."""
        return next((real for real, known in self._names[side].items() if known == name), name)

    def name_of(self, side: int, real: str) -> str | None:
        """The common name of one broker's id; None if it has none."""
        return self._names[side].get(real)

    def learn_members(self, bodies: list[Any]) -> None:
        """Names new members in answers to others: their ids may appear there before their own answers arrive."""
        unnamed = [
            sorted(
                (str(one.get("clientId")), str(one.get("metadata")), one["memberId"])
                for one in body.get("members", ())
                if one["memberId"] not in self._names[side]
            )
            for side, body in enumerate(bodies)
        ]
        for ours, kafka in zip(*unnamed, strict=False):
            self.name("somebody", ours[2], kafka[2])

    def _comparable(self, side: int, node: Any, key: str = "") -> Any:
        """An answer with common names for ids, without times, hosts and texts."""
        if isinstance(node, dict):
            return {
                name: self._comparable(side, value, name) for name, value in node.items() if name not in WITHOUT_MEANING
            }
        if isinstance(node, list):
            items = [self._comparable(side, item, key) for item in node]
            if key == "groups":
                items = [item for item in items if item.get("groupId", self.group).startswith(self.group)]
            return sorted(items, key=str) if key in UNORDERED else items
        return self._names[side].get(node, node) if isinstance(node, str) else node

    def free(self, who: str) -> bool:
        """Returns True if the client has no parked request."""
        return all(asking != who for asking, _, _ in self._parked.values())

    def close(self) -> None:
        """Checks that both brokers still park the same requests, and closes all connections."""
        self._settle(self._collected(self._barrier(KAFKA)))
        opened = ["barrier", *self._idle, *self._parked]
        if self.recording is not None:
            opened = ["barrier", *self._parked]
            for connection in self._parked:
                self.recording.closed(connection)
        self.wire.all(
            [{"do": "close", "port": port, "connection": connection} for connection in opened for port in self.ports]
        )
