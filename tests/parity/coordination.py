"""Runs the same short commands for a group on Odradek and on a real Kafka, and compares the answers.

A command names the client, the request, and the fields that differ from those of a correct client:

    a join                    JoinGroup; after MEMBER_ID_REQUIRED again with the id
    a first                   JoinGroup of a new member, once: it gets an id and does not use it
    b join v=9 inst=i protocols=range:t,sticky type=consumer
    a sync / a heartbeat / a commit offset=7 / a leave / a txn     as the member, with its last generation
    a heartbeat gen=+1        "+1" and "-1" are relative to the last generation, "=5" is 5;
                              the client ghost is unknown; "member=" and "inst=-" mean none
    b wait                    waits until its open requests are answered
    look                      DescribeGroups; also: list, fetch, delete, forget (OffsetDelete)
"""

import struct
import time
from collections.abc import Iterable
from typing import Any

from odradek.broker.coordinator.partitioning import partition_for
from odradek.protocol.messages.groups import (
    DeleteGroupsRequest,
    DescribeGroupsRequest,
    FindCoordinatorRequest,
    HeartbeatRequest,
    JoinGroupRequest,
    LeaveGroupRequest,
    ListGroupsRequest,
    OffsetCommitRequest,
    OffsetDeleteRequest,
    OffsetFetchRequest,
    SyncGroupRequest,
)
from odradek.protocol.messages.structure import Message
from odradek.protocol.messages.transactions import InitProducerIdRequest, TxnOffsetCommitRequest
from parity.in_step import KAFKA, OURS, Answered, InStep
from parity.side import DEADLINE_S
from parity.two_brokers import SAME_KEYS, VERIFIED_ALONE, TwoBrokers

MEMBER_ID_REQUIRED = 79
SESSION_MS = 60_000
PARTITIONS = int(SAME_KEYS["offsets.topic.num.partitions"])
Fields = dict[str, str]


def subscription(topic: str, who: str) -> bytes:
    """A consumer's subscription to one topic, in version 0. Its user data name the client."""
    name, data = topic.encode(), who.encode()
    return struct.pack(f">hih{len(name)}si{len(data)}s", 0, 1, len(name), name, len(data), data)


class Actor:
    """One client. ``ids``: its member id on each broker. ``name``: its common name."""

    def __init__(self) -> None:
        self.ids = ("", "")
        self.generation = -1
        self.instance_id: str | None = None
        self.leads = False
        self.others: list[str] = []


class Group:
    """One group on both brokers, and its clients."""

    def __init__(self, both: TwoBrokers, name: str, topic: str) -> None:
        self.name = name
        self.topic = topic
        self.actors: dict[str, Actor] = {}
        self.steps = InStep(both, name, self._learn)
        self._producers: list[tuple[int, int]] = []
        if partition_for(name, PARTITIONS) not in both.coordinators:
            self._wait_for_coordinators()
            both.coordinators.add(partition_for(name, PARTITIONS))

    def _wait_for_coordinators(self) -> None:
        deadline = time.monotonic() + DEADLINE_S
        for port in self.steps.ports:
            while (
                self.steps.wire.ask(port, FindCoordinatorRequest(self.name), 2)["body"]["errorCode"]
                or self.steps.wire.ask(port, OffsetFetchRequest(self.name), 7)["body"]["errorCode"]
            ):
                assert time.monotonic() < deadline, f"no coordinator of {self.name}"

    def name_of(self, who: str) -> str:
        """The common name of a client's member ids; empty if it has none."""
        return self.steps.name_of(OURS, self.actor(who).ids[OURS]) or ""

    def member_count(self) -> int:
        """The current number of members."""
        body = self.steps.wire.ask(self.steps.ports[OURS], DescribeGroupsRequest([self.name]), 5)["body"]
        return len(body["groups"][0]["members"])

    # --- commands

    def play(self, script: str) -> list[Any]:
        """Runs commands, separated by semicolons. Returns all answers so far, which are equal on both brokers."""
        for command in filter(None, map(str.strip, script.split(";"))):
            self.do(command)
        return self.steps.seen

    def do(self, command: str) -> Any:
        """Runs one command. Returns its answer; None if the request is parked."""
        self.steps.commands.append(command)
        words = command.split()
        if words[0] in ("look", "list", "fetch", "delete", "forget"):
            words.insert(0, "")
        who, verb, *rest = words
        fields = dict(word.split("=", 1) for word in rest)
        return getattr(self, f"_{verb}")(who, fields)

    def actor(self, who: str) -> Actor:
        """The client with this name. A new one has no member id."""
        return self.actors.setdefault(who, Actor())

    def _member_ids(self, who: str, fields: Fields) -> tuple[str, str]:
        named = fields.get("member")
        if named is None:
            return self.actor(who).ids if who != "ghost" else ("ghost", "ghost")
        known = self.actors.get(named)
        return (named, named) if known is None else known.ids

    def _generation(self, who: str, fields: Fields) -> int:
        known = self.actor(who).generation
        wanted = fields.get("gen", "+0")
        return known + int(wanted) if wanted[0] in "+-" else int(wanted.lstrip("="))

    def _instance(self, who: str, fields: Fields) -> str | None:
        wanted = fields.get("inst", self.actor(who).instance_id)
        return None if wanted == "-" else wanted

    # --- requests

    def _join(self, who: str, fields: Fields) -> Any:
        answer = self._first(who, fields)
        if answer is not None and answer["errorCode"] == MEMBER_ID_REQUIRED:
            answer = self._first(who, fields)
        return answer

    def _wait(self, who: str, fields: Fields) -> Any:
        """Waits for the answer to the client's parked request, and returns it."""
        return self.steps.wait_for(who)

    def _first(self, who: str, fields: Fields) -> Any:
        actor = self.actor(who)
        version = int(fields.get("v", 7))
        if "inst" in fields:
            actor.instance_id = self._instance(who, fields)
        protocols = []
        for protocol in filter(None, fields.get("protocols", "range:t").split(",")):
            name, _, topic = protocol.partition(":")
            protocols.append(JoinGroupRequest.JoinGroupRequestProtocol(name, subscription(topic, who)))

        def request(side: int) -> Message:
            return JoinGroupRequest(
                fields.get("group", self.name),
                int(fields.get("session", SESSION_MS)),
                int(fields.get("rebalance", SESSION_MS)) if version >= 1 else -1,
                self._member_ids(who, fields)[side],
                actor.instance_id if version >= 5 else None,
                fields.get("type", "consumer"),
                protocols,
            )

        return self.steps.ask(who, request, version, may_park=True)

    def _sync(self, who: str, fields: Fields) -> Any:
        actor = self.actor(who)
        version = int(fields.get("v", 3))
        wanted = [name for name in fields.get("for", ",".join(actor.others)).split(",") if name]

        def request(side: int) -> Message:
            given = [
                SyncGroupRequest.SyncGroupRequestAssignment(self.steps.real(side, name), b"for " + name.encode())
                for name in wanted
            ]
            return SyncGroupRequest(
                fields.get("group", self.name),
                self._generation(who, fields),
                self._member_ids(who, fields)[side],
                self._instance(who, fields) if version >= 3 else None,
                fields.get("type", "consumer") if version >= 5 else None,
                fields.get("protocol", "range") if version >= 5 else None,
                given,
            )

        return self.steps.ask(who, request, version, may_park=True)

    def _heartbeat(self, who: str, fields: Fields) -> Any:
        version = int(fields.get("v", 4))
        return self.steps.ask(
            who,
            lambda side: HeartbeatRequest(
                fields.get("group", self.name),
                self._generation(who, fields),
                self._member_ids(who, fields)[side],
                self._instance(who, fields) if version >= 3 else None,
            ),
            version,
        )

    def _commit(self, who: str, fields: Fields) -> Any:
        version = int(fields.get("v", 8))
        one = OffsetCommitRequest.OffsetCommitRequestPartition(
            int(fields.get("partition", 0)),
            int(fields.get("offset", 1)),
            committed_metadata="x" * int(fields.get("metadata", 0)),
        )
        topics = [OffsetCommitRequest.OffsetCommitRequestTopic(fields.get("topic", self.topic), partitions=[one])]
        return self.steps.ask(
            who,
            lambda side: OffsetCommitRequest(
                fields.get("group", self.name),
                self._generation(who, fields),
                self._member_ids(who, fields)[side],
                self._instance(who, fields) if version >= 7 else None,
                topics=topics,
            ),
            version,
        )

    def _txn(self, who: str, fields: Fields) -> Any:
        """TxnOffsetCommit in the group's own transaction, which version 5 begins implicitly."""
        version = int(fields.get("v", 5))
        if not self._producers:
            self._producers = [self._producer(port) for port in self.steps.ports]
        one = TxnOffsetCommitRequest.TxnOffsetCommitRequestPartition(0, 1)
        name = fields.get("topic", self.topic)
        topics = [TxnOffsetCommitRequest.TxnOffsetCommitRequestTopic(name, partitions=[one])]

        def request(side: int) -> Message:
            return TxnOffsetCommitRequest(
                self.name,
                self.name,
                *self._producers[side],
                self._generation(who, fields),
                self._member_ids(who, fields)[side],
                self._instance(who, fields),
                topics,
            )

        with VERIFIED_ALONE:
            return self.steps.ask(who, request, version)

    def _producer(self, port: int) -> tuple[int, int]:
        """The id and epoch of a producer whose transactional id is the group's name."""
        ask, deadline = self.steps.wire.ask, time.monotonic() + DEADLINE_S
        find, init = FindCoordinatorRequest(self.name, 1), InitProducerIdRequest(self.name, SESSION_MS)
        while (found := ask(port, find, 3)["body"])["errorCode"] or (body := ask(port, init, 4)["body"])["errorCode"]:
            assert time.monotonic() < deadline, f"no coordinator of transactional id {self.name}"
        if self.steps.recording is not None and port == self.steps.ports[KAFKA]:
            self.steps.recording.asked("main", "wire", find, 3, {"body": found})
            self.steps.recording.asked("main", "wire", init, 4, {"body": body})
        return body["producerId"], body["producerEpoch"]

    def _leave(self, who: str, fields: Fields) -> Any:
        """``members=a,ghost,/i,b/i`` names members by client, instance id, or both. Default: the client itself."""
        version = int(fields.get("v", 4))

        def request(side: int) -> Message:
            group = fields.get("group", self.name)
            if version < 3:
                return LeaveGroupRequest(group, self._member_ids(who, fields)[side])
            identities = []
            for text in fields.get("members", "").split(",") if "members" in fields else ():
                name, _, instance = text.partition("/")
                ids = self._member_ids(name, {"member": name})
                identities.append(LeaveGroupRequest.MemberIdentity(ids[side], instance or None))
            if "members" not in fields:
                own = self._member_ids(who, fields)[side]
                identities.append(LeaveGroupRequest.MemberIdentity(own, self._instance(who, fields)))
            return LeaveGroupRequest(group, members=identities)

        return self.steps.ask(who, request, version)

    def _look(self, who: str, fields: Fields) -> Any:
        wanted = fields.get("group", self.name)
        return self.steps.ask(who, lambda _: DescribeGroupsRequest([wanted]), int(fields.get("v", 5)))

    def _list(self, who: str, fields: Fields) -> Any:
        states = [state for state in fields.get("states", "").split(",") if state]
        types = [one for one in fields.get("types", "").split(",") if one]
        return self.steps.ask(who, lambda _: ListGroupsRequest(states, types), int(fields.get("v", 5)))

    def _fetch(self, who: str, fields: Fields) -> Any:
        stable = fields.get("stable") == "yes"
        request = OffsetFetchRequest(fields.get("group", self.name), None, require_stable=stable)
        return self.steps.ask(who, lambda _: request, int(fields.get("v", 7)))

    def _delete(self, who: str, fields: Fields) -> Any:
        return self.steps.ask(who, lambda _: DeleteGroupsRequest([fields.get("group", self.name)]), 2)

    def _forget(self, who: str, fields: Fields) -> Any:
        indexes = fields.get("partitions", "0,1,9").split(",")
        partitions = [OffsetDeleteRequest.OffsetDeleteRequestPartition(int(index)) for index in indexes]
        topic = OffsetDeleteRequest.OffsetDeleteRequestTopic(fields.get("topic", self.topic), partitions)
        return self.steps.ask(who, lambda _: OffsetDeleteRequest(fields.get("group", self.name), [topic]), 0)

    def _learn(self, answered: list[Answered]) -> None:
        """Applies JoinGroup's answers: first those to the requesting clients, then those about others."""
        for who, request, _, bodies in answered:
            if not isinstance(request, JoinGroupRequest):
                continue
            ours, kafka = (body.get("memberId", "") for body in bodies)
            if ours and kafka and ours != kafka and self.steps.name_of(OURS, ours) is None:
                self.steps.name(who, ours, kafka)
            if all(body.get("errorCode") in (0, MEMBER_ID_REQUIRED) for body in bodies):
                self.actor(who).ids = (ours, kafka)
        for who, request, _, bodies in answered:
            if isinstance(request, DescribeGroupsRequest):
                self.steps.learn_members([body["groups"][0] for body in bodies])
            elif isinstance(request, JoinGroupRequest):
                self.steps.learn_members(bodies)
                self._learn_generation(self.actor(who), bodies[OURS])

    def _learn_generation(self, actor: Actor, body: Any) -> None:
        if body.get("errorCode") == 0:
            actor.generation = body["generationId"]
            actor.leads = body["leader"] == body["memberId"]
            actor.others = [self.steps.name_of(OURS, one["memberId"]) or "?" for one in body["members"]]


def play(both: TwoBrokers, name: str, topic: str, scripts: Iterable[str]) -> list[Any]:
    """Runs scripts one after the other in a new group. Returns all answers."""
    group = Group(both, name, topic)
    try:
        for script in scripts:
            group.play(script)
        return group.steps.seen
    finally:
        group.steps.close()
