"""The same request to ours and to a real Kafka, answered now or later: each answer the same, in both sides' words.

A request that is parked stays so; as soon as one side answers it, the other has to. Ids that each broker makes itself
are told by names, which are learnt when they are given.
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
"""A group's first rebalance ends by a timer that is due at once, which ours looks at within two milliseconds."""
LOOKS = (DescribeGroupsRequest, ListGroupsRequest, OffsetFetchRequest)


Answered = tuple[str, Message, int, list[Any]]
"""Who asked what in which version, and both answers."""
Learn = Callable[[list[Answered]], None]
"""Sees answers before they are compared."""


class InStep:
    """The requests about one group that are not answered yet. Each has its own connection until then."""

    _connections = itertools.count()

    def __init__(self, both: TwoBrokers, group: str, learn: Learn) -> None:
        self.group = group
        self.wire = both.wire
        self.ports = (both.ours.port, both.kafka.port)
        self.seen: list[Any] = []
        self.commands: list[str] = []
        self._learn = learn
        self._names: tuple[dict[str, str], dict[str, str]] = ({}, {})
        self._parked: dict[str, tuple[str, Message, int]] = {}
        """Connection -> who asked what in which version."""
        self._idle: list[str] = []

    def ask(self, who: str, request: Callable[[int], Message], version: int, *, may_park: bool = False) -> Any:
        """Sends what ``request`` makes for each broker. Returns our answer, None if the request waits."""
        connection = self._idle.pop() if self._idle else self._opened()
        sent = [
            sending(port, request(side), version, connection, who or "admin") for side, port in enumerate(self.ports)
        ]
        asked = request(OURS)
        self._parked[connection] = (who, asked, version)
        if may_park:
            answered = self._collected(sent, wait_ms=FIRST_REBALANCE_MS if isinstance(asked, JoinGroupRequest) else 0)
            if connection in self._parked:
                answered += self._collected(self._barrier(KAFKA) * 2)
        else:
            *_, ours, kafka = self.wire.all([*sent, *(receiving(port, connection) for port in self.ports)])
            answered = [self._received(connection, ours, kafka)]
            if isinstance(asked, LeaveGroupRequest):
                answered += self._collected()
        self._settle(answered)
        return next((bodies[OURS] for _, one, _, bodies in answered if one is asked), None)

    def _opened(self) -> str:
        """A connection that both have taken: the first request of a new one may be read after the next question."""
        connection = f"{self.group}-{next(self._connections)}"
        for port in self.ports:
            self.wire.ask(port, DescribeGroupsRequest([self.group]), 5, connection)
        return connection

    def wait_for(self, who: str) -> Any:
        """Waits until what a client asked is answered, if it is not yet."""
        connection = next((connection for connection, one in self._parked.items() if one[0] == who), None)
        if connection is None:
            return None
        answered = [self._received(connection), *self._collected()]
        self._settle(answered)
        return answered[0][3][OURS]

    def _settle(self, answered: list[Answered]) -> None:
        """Learns from what was answered, and compares it."""
        self._learn(answered)
        for one in answered:
            self._compare(*one)

    def _collected(self, first: Sequence[Order] = (), *, wait_ms: int = 0) -> list[Answered]:
        """The answers to waiting requests, the newest first.

        If one broker has answered, so must the other. ``first``: orders that come before; ``wait_ms``: how long ours
        may take for the newest.
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
        """Another question: once it is answered, what is not answered of what came before is parked.

        Both brokers handle the requests of all connections in order (KAFKA_KEYS), but one that came a moment earlier
        may be read a moment later; Kafka hands them on, so it is asked twice.
        """
        port = self.ports[side]
        return [sending(port, DescribeGroupsRequest([self.group]), 5, "barrier"), receiving(port, "barrier")]

    def _received(self, connection: str, *known: Answer) -> Answered:
        """What both answer on a connection; ``known``: what is there already."""
        who, request, version = self._parked.pop(connection)
        bodies = []
        for port, answer in zip(self.ports, known or ({"timeout": True},) * 2, strict=True):
            received = self.wire.receive(port, connection) if "timeout" in answer else answer
            bodies.append(received.get("body", received))
        self._idle.append(connection)
        return who, request, version, bodies

    def _compare(self, who: str, request: Message, version: int, bodies: list[Any]) -> None:
        ours, kafka = self._both(bodies)
        deadline = time.monotonic() + DEADLINE_S
        while ours != kafka and isinstance(request, LOOKS) and time.monotonic() < deadline:
            # What a timer or a marker does comes when it comes.
            ours, kafka = self._both([self.wire.ask(port, request, version)["body"] for port in self.ports])
        asked = f"{who} {request.NAME} version {version}"
        if ours != kafka and self._parked:
            # The other members' answers are on their way, and say what they are called.
            self._settle(self._collected())
            ours, kafka = self._both(bodies)
        assert ours == kafka, f"{asked} after {'; '.join(self.commands)}\nours:  {ours}\nKafka: {kafka}"
        self.seen.append((asked, ours))

    def _both(self, bodies: list[Any]) -> list[Any]:
        return [self._comparable(side, body) for side, body in enumerate(bodies)]

    def name(self, name: str, ours: str, kafka: str) -> None:
        """From now on both sides call what each calls so by one name."""
        self._names[OURS][ours] = self._names[KAFKA][kafka] = f"{name}{len(self._names[OURS])}"

    def real(self, side: int, name: str) -> str:
        """The name on one side of the thing with this name."""
        return next((real for real, known in self._names[side].items() if known == name), name)

    def name_of(self, side: int, real: str) -> str | None:
        """The name of what one side calls so."""
        return self._names[side].get(real)

    def learn_members(self, bodies: list[Any]) -> None:
        """Others may be told of a member before it has its own answer."""
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
        """An answer in both sides' words, without times, hosts and texts."""
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
        """Whether the client waits for nothing."""
        return all(asking != who for asking, _, _ in self._parked.values())

    def close(self) -> None:
        """Looks whether both leave the same unanswered, and leaves no connection behind."""
        self._settle(self._collected(self._barrier(KAFKA)))
        opened = ["barrier", *self._idle, *self._parked]
        self.wire.all(
            [{"do": "close", "port": port, "connection": connection} for connection in opened for port in self.ports]
        )
