"""Random members of one streams group on Odradek and a real Kafka: answers and stored records must be equal.

The members are four dynamic ones of three processes, and two that share an instance id. They join, report the tasks
that they were given or others, send wrong epochs, tags, endpoints and offsets, commit, leave and return. The topology
has up to three subtopologies, some with state, some with a repartition topic between them. Its internal topics are
created by the first member, and are there before the history goes on.
"""

import random
from collections.abc import Callable, Iterator
from typing import Any

from odradek.protocol.messages.groups import DeleteGroupsRequest
from odradek.protocol.messages.streams_groups import StreamsGroupHeartbeatRequest
from parity.side import Side
from parity.streams_members import StreamsMembers, info, subtopology, tasks_of, topology
from parity.two_brokers import TwoBrokers

PARTITIONS = {"streams-random-a": 3, "streams-random-b": 5, "streams-random-c": 1}
DYNAMIC = {"a": "p", "b": "p", "c": "q", "d": "r"}
"""Members and their processes. All member names fall into different buckets of Kafka's hash map."""
STATIC = {"e": "i", "f": "i"}
"""Instance ids of the static members, which have one process."""
KNOWN_BY_MS = 6_000
"""A heartbeat interval by which a broker shows that it uses the group's configs: it was set last."""
Request = StreamsGroupHeartbeatRequest
Command = Callable[[StreamsMembers], Any]


def make_topics(both: TwoBrokers) -> None:
    """Creates the source topics on both brokers, and waits until both coordinators know them."""
    for port, is_ours in ((both.ours.port, True), (both.kafka.port, False)):
        side = Side(both.wire, port, is_ours)
        for name, partitions in PARTITIONS.items():
            side.topic(name, partitions)
        probe = StreamsMembers(side, "streams-random-probe")
        probe.join("probe", topology(subtopology("0", *PARTITIONS)))
        probe.until_ready("probe")
        probe.leave("probe")


class RandomStreams:
    """The random history of one group on both brokers."""

    def __init__(self, both: TwoBrokers, name: str, seed: int) -> None:
        """``name``: the group's name."""
        self.random = random.Random(seed)
        self.name = name
        self.sides = []
        for port, is_ours in ((both.ours.port, True), (both.kafka.port, False)):
            side = Side(both.wire, port, is_ours)
            side.learn_ids(*PARTITIONS)
            self.sides.append(StreamsMembers(side, name))
        self.owned: dict[str, Any] = {}
        self.said: list[str] = []
        self.internal: list[str] = []
        self.topology = self._topology()
        self.tasks = {each.subtopology_id: 5 for each in self.topology.subtopologies}
        self._begin(str(seed % 3), "zone" if seed % 4 == 0 else "")

    def _topology(self) -> Request.Topology:
        """One to three subtopologies. The last one may read a repartition topic that the first one writes."""
        parts = []
        names = self.random.sample(sorted(PARTITIONS), self.random.randint(1, 3))
        for number, source in enumerate(names):
            changelogs = []
            if self.random.random() < 0.6:
                changelogs = [info(f"{self.name}-{number}-changelog", cleanup_policy="compact")]
            parts.append(subtopology(str(number), source, changelogs=changelogs))
        if self.random.random() < 0.5:
            repartition = info(f"{self.name}-repartition", self.random.choice((0, 0, 2, 6)))
            parts[0].repartition_sink_topics = [repartition.name]
            parts.append(subtopology("last", repartitions=[repartition]))
        for part in parts:
            self.internal += [one.name for one in (*part.state_changelog_topics, *part.repartition_source_topics)]
        return topology(*parts)

    def _begin(self, standbys: str, tags: str) -> None:
        """Waits until the internal topics are there and the group's configs are in use. Then the group begins anew."""
        fresh = []
        for members in self.sides:
            members.change("streams.num.standby.replicas", standbys)
            members.change("streams.rack.aware.assignment.tags", tags)
            # Otherwise a static member that is refused takes the tasks of the other one away, in Kafka 4.4.0
            # (docs/differences.md).
            members.change("streams.num.warmup.replicas", "0")
            members.change("streams.heartbeat.interval.ms", str(KNOWN_BY_MS))
            members.join("a", self.topology, process_id=DYNAMIC["a"])
            members.until_topics(*self.internal)
            members.until_ready("a")
            members.until("a", lambda answer: answer["heartbeatIntervalMs"] == KNOWN_BY_MS)
            members.leave("a")
            members.side.ask(DeleteGroupsRequest([members.name]), 2)
            fresh.append(StreamsMembers(members.side, self.name))
            fresh[-1].interval_ms = KNOWN_BY_MS
        self.sides = fresh

    def step(self) -> None:
        """Runs one command."""
        what, command = self._next()
        self.said.append(what)
        answer = self._both(command)
        if isinstance(answer, dict) and answer.get("activeTasks") is not None:
            self.owned[what.split()[0]] = tasks_of(answer)

    def end(self) -> int:
        """Compares the group a last time. Returns the number of requests."""
        self._both(lambda members: without_counts(members.describe()))
        return len(self.said) + 1

    def stored(self) -> None:
        """Compares the stored records of the group."""
        self._both(lambda members: members.told_records())

    def _both(self, command: Command) -> Any:
        ours, kafka = (command(members) for members in self.sides)
        assert ours == kafka, "\n".join([*self.said[-12:], *differences(ours, kafka)])
        return ours

    def _next(self) -> tuple[str, Command]:
        kind = self.random.choices(
            ("join", "heartbeat", "leave", "commit", "fetch", "describe", "list"), (20, 50, 8, 8, 4, 6, 1)
        )[0]
        who = self.random.choice([*DYNAMIC, *STATIC])
        match kind:
            case "join":
                return self._join(who)
            case "heartbeat":
                return self._heartbeat(who)
            case "leave":
                epoch = self.random.choice((-1, -1, -2))
                fields = self._identity(who)
                return f"{who} leaves {epoch} {fields}", lambda members: members.leave(who, epoch, **fields)
            case "commit":
                who = self.random.choice([*DYNAMIC, *STATIC, "ghost", ""])
                shift, at = self.random.choice((0, 0, -1, -1, -2, 1)), self.random.randrange(5)
                epoch = -1 if not who else self.sides[0].epochs.get(who, 0) + shift
                topic, version = self.random.choice(sorted(PARTITIONS)), self.random.choice((8, 9, 9, 9))
                return f"{who} commits {epoch} {topic} {at}", lambda members: members.commit(
                    who, topic, epoch, partition=at, version=version
                )
            case "fetch":
                name = self.random.choice([*DYNAMIC, "ghost", None])
                epoch = -1 if name is None else self.sides[0].epochs.get(name, 0)
                return f"{name} fetches {epoch}", lambda members: members.fetch(name, epoch)
            case "describe":
                version = self.random.choice((0, 1))
                return "describe", lambda members: without_counts(members.describe(version))
        return "list", lambda members: members.listed()

    def _identity(self, who: str) -> dict[str, Any]:
        if who not in STATIC or self.random.random() < 0.05:
            return {}
        return {"instance_id": STATIC[who] if self.random.random() < 0.95 else "k"}

    def _metadata(self) -> dict[str, Any]:
        """Fields that change a member."""
        tags = self.random.choice(([], [Request.KeyValue("zone", "1")], [Request.KeyValue("zone", "2")]))
        fields: dict[str, Any] = {
            "client_tags": tags,
            "rack_id": self.random.choice((None, None, "r")),
            "user_endpoint": self.random.choice((None, None, Request.Endpoint("h", 1), Request.Endpoint("h", 2))),
            "rebalance_timeout_ms": self.random.choice((300_000, 300_000, 301_000)),
        }
        return {key: fields[key] for key in fields if self.random.random() < 0.6}

    def _join(self, who: str) -> tuple[str, Command]:
        fields = {"process_id": DYNAMIC.get(who, "s"), **self._metadata(), **self._identity(who)}
        if self.random.random() < 0.05:
            other = topology(subtopology("0", "streams-random-b"), epoch=self.random.choice((-0, 1)))
            return f"{who} joins with another topology {fields}", lambda members: members.join(who, other, **fields)
        return f"{who} joins {fields}", lambda members: members.join(who, self.topology, **fields)

    def _heartbeat(self, who: str) -> tuple[str, Command]:
        epoch = self.sides[0].epochs.get(who, 0) + self.random.choice((0, 0, 0, 0, 0, 0, 0, -1, 1))
        fields = self._identity(who)
        if self.random.random() < 0.75:
            owned, standbys = self.owned.get(who, ({}, {}))
            if self.random.random() < 0.15:
                owned = {self.random.choice(sorted(self.tasks)): [self.random.randrange(5)]}
            if self.random.random() < 0.1:
                standbys = {}
            fields |= {"owned": owned, "standbys": standbys}
        if self.random.random() < 0.15:
            fields |= self._metadata()
        if self.random.random() < 0.1:
            fields["task_offsets"] = [Request.TaskOffset("0", at, at) for at in range(self.random.randrange(3))]
        fields["endpoint_information_epoch"] = self.random.choice((0, 0, 1, 2))
        version = self.random.choice((0, 1, 1))
        return f"{who} heartbeat {epoch} {fields}", lambda members: members.heartbeat(
            who, max(epoch, 0) or 1, version, **fields
        )


def without_counts(described: Any) -> Any:
    """A description without the partitions of internal topics: Kafka shows them after the next record of the group."""
    for group in described["groups"]:
        for part in (group["topology"] or {}).get("subtopologies") or ():
            for topic in (*part["stateChangelogTopics"], *part["repartitionSourceTopics"]):
                topic["partitions"] = 0
    return described


def differences(ours: Any, kafka: Any, path: str = "") -> Iterator[str]:
    """The places at which two answers differ, as lines."""
    if isinstance(ours, dict) and isinstance(kafka, dict) and ours.keys() == kafka.keys():
        for key in ours:
            yield from differences(ours[key], kafka[key], f"{path}.{key}")
    elif isinstance(ours, list | tuple) and isinstance(kafka, list | tuple) and len(ours) == len(kafka):
        for number, (one, other) in enumerate(zip(ours, kafka, strict=True)):
            yield from differences(one, other, f"{path}[{number}]")
    elif ours != kafka:
        yield f"{path}: ours {ours}, Kafka {kafka}"
