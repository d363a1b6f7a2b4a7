"""Random members of one consumer group on Odradek and a real Kafka: answers and stored records must be equal.

The members are three consumers, two that share an instance id, and one member of the classic protocol. They join,
report their own or other partitions, send wrong epochs, commit, leave and return. Sometimes the group changes its
protocol. Only one topic has partitions, because an assignment of several topics depends on their ids.

Two cases are left out (docs/groups.md). A classic member with an id joins an empty consumer group: Kafka then forgets
the group until it loads the partition again. A classic member joins without a subscription.
"""

import base64
import os
import random
from collections.abc import Callable
from typing import Any

from odradek.broker.groups.consumer.consumer_protocol import read_assignment
from parity.consumer_members import Members, assigned
from parity.side import Side
from parity.two_brokers import TwoBrokers

TOPIC, PARTITIONS = "cg-random", 5
CONSUMERS = ("a", "b", "d")
STATIC = {"e": "i", "f": "i"}
"""Instance ids of the static members.

All member names fall into different buckets of Kafka's hash map, because the order within a bucket depends on its
history.
"""
CLASSIC = "c"
LOOKS_ALWAYS = "CONSUMERS_LOOK" in os.environ
"""Compares the whole group after every command, to find the command that caused a difference."""

Command = Callable[[Members], Any]


def make_topic(both: TwoBrokers) -> None:
    """Creates the topic on both brokers, and waits until both coordinators know it."""
    for port, is_ours in ((both.ours.port, True), (both.kafka.port, False)):
        side = Side(both.wire, port, is_ours)
        side.topic(TOPIC, PARTITIONS)
        probe = Members(side, "cg-random-probe")
        probe.join("probe", TOPIC)
        whole = {TOPIC: list(range(PARTITIONS))}
        probe.until_assigned("probe", whole, rebalance_timeout_ms=60_000, subscribed_topic_names=[TOPIC], owned={})
        probe.leave("probe")


class RandomConsumers:
    """The random history of one group on both brokers."""

    def __init__(self, both: TwoBrokers, name: str, seed: int) -> None:
        """``name``: the group's name."""
        self.random = random.Random(seed)
        self.assignor = self.random.choice(("range", "uniform"))
        """The one assignor that members ask for. While two have equally many votes, each heartbeat raises the epoch in
        Kafka 4.4 (docs/differences.md)."""
        self.sides = []
        for port, is_ours in ((both.ours.port, True), (both.kafka.port, False)):
            side = Side(both.wire, port, is_ours)
            side.learn_ids(TOPIC)
            members = Members(side, name)
            # A consumer group accepts the id that a classic member brings.
            members.ids[CLASSIC] = CLASSIC
            self.sides.append(members)
        self.owned: dict[str, dict[str, list[int]]] = {}
        self.said: list[str] = []

    def step(self) -> None:
        """Runs one command."""
        what, command = self._next()
        self.said.append(what)
        answer = self._both(command)
        if LOOKS_ALWAYS:
            self._both(lambda members: members.describe())
        if isinstance(answer, dict) and answer.get("assignment"):
            self.owned[what.split()[0]] = _owned(answer["assignment"])

    def end(self) -> int:
        """Compares the group a last time. Returns the number of requests."""
        self._both(lambda members: members.describe())
        return len(self.said) + 1

    def stored(self) -> None:
        """Compares the stored records of the group."""
        self._both(lambda members: members.told_records())

    def _both(self, command: Command) -> Any:
        ours, kafka = (command(members) for members in self.sides)
        assert ours == kafka, "\n".join([*self.said, f"ours:  {ours}", f"Kafka: {kafka}"])
        return ours

    def _next(self) -> tuple[str, Command]:
        kind = self.random.choices(
            ("join", "heartbeat", "leave", "classic", "commit", "fetch", "describe", "list"),
            (20, 40, 8, 16, 6, 3, 3, 1),
        )[0]
        who = self.random.choice([*CONSUMERS, *STATIC])
        match kind:
            case "join":
                return self._join(who)
            case "heartbeat":
                return self._heartbeat(who)
            case "leave":
                epoch = self.random.choice((-1, -1, -2))
                fields = self._identity(who)
                return f"{who} leaves {epoch} {fields}", lambda members: members.leave(who, epoch, **fields)
            case "classic":
                return self._classic()
            case "commit":
                who = self.random.choice([*CONSUMERS, *STATIC, CLASSIC, "ghost", ""])
                shift, at = self.random.choice((0, 0, 0, -1, 1)), self.random.randrange(PARTITIONS)
                epoch = -1 if not who else self.sides[0].epochs.get(who, 0) + shift
                version = self.random.choice((8, 9, 9, 9))
                return f"{who} commits {epoch}", lambda members: members.commit(
                    who, TOPIC, epoch, partition=at, version=version
                )
            case "fetch":
                name = self.random.choice([*CONSUMERS, "ghost", None])
                epoch = -1 if name is None else self.sides[0].epochs.get(name, 0)
                return f"{name} fetches {epoch}", lambda members: members.fetch(name, epoch)
            case "describe":
                return "describe", lambda members: members.describe()
        return "list", lambda members: members.listed()

    def _identity(self, who: str) -> dict[str, Any]:
        if who not in STATIC or self.random.random() < 0.05:
            return {}
        return {"instance_id": STATIC[who] if self.random.random() < 0.95 else "k"}

    def _subscription(self, *more: list[str]) -> dict[str, Any]:
        names = self.random.choice(([TOPIC], [TOPIC], [TOPIC], [TOPIC, "nowhere"], ["nowhere"], *more))
        return {
            "subscribed_topic_names": names,
            "server_assignor": self.random.choice((None, None, self.assignor, self.assignor)),
            "rebalance_timeout_ms": self.random.choice((60_000, 61_000)),
        }

    def _join(self, who: str) -> tuple[str, Command]:
        fields = {**self._subscription(), **self._identity(who), "owned": {}}
        return f"{who} joins {fields}", lambda members: members.heartbeat(who, 0, **fields)

    def _heartbeat(self, who: str) -> tuple[str, Command]:
        epoch = self.sides[0].epochs.get(who, 0) + self.random.choice((0, 0, 0, 0, 0, 0, -1, 1))
        fields = self._identity(who)
        if self.random.random() < 0.7:
            fields["owned"] = self.owned.get(who, {}) if self.random.random() < 0.9 else {TOPIC: [0]}
        if self.random.random() < 0.15:
            fields |= self._subscription(*([[]] if epoch > 0 else []))
        return f"{who} heartbeat {epoch} {fields}", lambda members: members.heartbeat(who, max(epoch, 0), **fields)

    def _classic(self) -> tuple[str, Command]:
        kind = self.random.choice(("join", "join", "sync", "sync", "heartbeat", "heartbeat", "leave"))
        state = self._both(lambda members: members.state())
        if kind == "join" and state in ("Dead", "Empty"):
            return "nobody to join", lambda members: members.listed()
        match kind:
            case "join":
                owned = self.owned.get(CLASSIC, {}) if self.random.random() < 0.8 else {TOPIC: [0]}
                return f"{CLASSIC} joins", lambda members: members.classic_join(CLASSIC, TOPIC, owned=owned)
            case "sync":
                return f"{CLASSIC} synchronises", lambda members: members.classic_sync(CLASSIC, {CLASSIC: NOTHING})
            case "heartbeat":
                return f"{CLASSIC} heartbeat", lambda members: members.classic_heartbeat(CLASSIC)
        leaving = self.random.choice(((CLASSIC, None), ("", "i"), ("a", None)))
        return f"{leaving} leaves", lambda members: members.classic_leave(leaving)


def _owned(assignment: Any) -> dict[str, list[int]]:
    """The partitions that a member owns according to an answer, in either protocol."""
    if isinstance(assignment, dict):
        return assigned(assignment)
    found = read_assignment(base64.b64decode(assignment)).assigned_partitions
    return {topic.topic: topic.partitions for topic in found}


NOTHING = b"\x00\x01\x00\x00\x00\x00\xff\xff\xff\xff"
"""An empty assignment, as the leader of a classic group writes it."""
