"""Plays the scripts of the group coordinator to a real Kafka, too, and compares the answers.

Ids that each broker generates (members, topics) are translated. Group ids get the script's name as a prefix, so that
scripts share a broker. Scripts that need virtual time, crashes or other configs are not played.
"""

import base64
import random
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from odradek.broker.coordinator.partitioning import partition_for
from odradek.broker.groups.classic.group import GroupState
from odradek.protocol.apis.api_keys import ApiKey
from odradek.protocol.messages.groups import (
    DescribeGroupsRequest,
    FindCoordinatorRequest,
    JoinGroupResponse,
    ListGroupsRequest,
)
from odradek.protocol.messages.structure import Message, Structure
from odradek.protocol.messages.topics import CreateTopicsRequest
from support.data.messages import to_json
from support.eventually import eventually
from support.groups.harness import Harness
from support.kafka.wire import Wire

from ..scripts import ScriptPlayer

_UNSUITABLE = re.compile(
    r"^(crash|hold|fail|wait [1-9]\d|config (?!group_initial_rebalance_delay_ms=0$))", re.MULTILINE
)
_OF_THE_BROKER = {"throttleTimeMs", "errorMessage", "clientId"}
TOPICS = {"t": 4, "u": 2}
LONGEST_MS = 1_800_000
"""The default of ``group.max.session.timeout.ms``."""

Answered = tuple[str, str, Any, Any]
"""Request, client, our answer, Kafka's answer."""


def is_suitable(path: Path) -> bool:
    """Whether a script needs nothing but requests."""
    text = path.read_text()
    return "Not for a real Kafka" not in text and _UNSUITABLE.search(text) is None


def create_topics(wire: Wire, port: int) -> dict[str, str]:
    """Creates the scripts' topics in the real broker; returns our topic id -> its topic id."""
    topics = [CreateTopicsRequest.CreatableTopic(name, count, 1) for name, count in TOPICS.items()]
    body = wire.ask(port, CreateTopicsRequest(topics=topics, timeout_ms=30_000), 7)["body"]
    assert [topic["errorCode"] for topic in body["topics"]] == [0, 0]
    return {_uuid_text(topic["name"].encode() * 16): topic["topicId"] for topic in body["topics"]}


def wait_for_coordinators(wire: Wire, port: int) -> None:
    """Makes the broker create the offsets topic, and waits until it serves every partition of it."""
    one_for_each = {partition_for(f"ready-{index}", 50): f"ready-{index}" for index in range(2_000)}
    assert len(one_for_each) == 50

    def are_served() -> bool:
        wire.ask(port, FindCoordinatorRequest(coordinator_keys=["any"]), 4)
        body = wire.ask(port, DescribeGroupsRequest(groups=list(one_for_each.values())), 5)["body"]
        return {group["errorCode"] for group in body["groups"]} == {0}

    eventually("every partition of the offsets topic is served", are_served)


def _uuid_text(uuid: bytes) -> str:
    return base64.urlsafe_b64encode(uuid).decode().rstrip("=")


class ParityPlayer(ScriptPlayer):
    """Plays a script to our coordinator and to a real broker, and collects the answers of both."""

    def __init__(self, wire: Wire, port: int, prefix: str, topic_ids: dict[str, str]) -> None:
        super().__init__()
        self._wire = wire
        self._port = port
        self._prefix = prefix
        self._real_ids = dict(topic_ids)
        self._requests: dict[int, tuple[Message, int, str]] = {}
        self._busy: set[str] = set()
        self._answered: list[Answered] = []
        self._script: RandomScript | None = None
        self.commands: list[str] = []

    def send(self, harness: Harness, client: str, api_key: ApiKey, version: int, request: Message) -> None:
        """Sends a request to both. A client with a waiting request opens another connection, because Kafka serves each
        in order.
        """
        connection = next(name for name in self._connections(client) if name not in self._busy)
        self._busy.add(connection)

        def answered(response: Message) -> None:
            self._requests[id(response)] = (request, version, connection)
            harness.answers.append((client, response))

        harness.send(client, api_key, version, request, answered)
        group_id = getattr(request, "group_id", "")
        self._translate_request(request)
        self._wire.send(self._port, request, version, connection)
        if not any(answered_client == client for answered_client, _ in harness.answers):
            self._wait_until_parked(harness, group_id)

    def _connections(self, client: str) -> Iterator[str]:
        return (f"{self._prefix}{client}{number}" for number in range(100))

    def _wait_until_parked(self, harness: Harness, group_id: str) -> None:
        """Waits until the real group has the same state as ours with the waiting request."""
        group = harness.core.groups.classic[group_id]
        if group.previous_state is GroupState.EMPTY:
            return  # the initial delay of 0 ms may already be over in the real group, ours has to fire
        request = DescribeGroupsRequest(groups=[self._prefixed(group_id)])
        seen: list[Any] = []

        def looks_as_ours() -> bool:
            seen[:] = self._wire.ask(self._port, request, 4, f"{self._prefix}look")["body"]["groups"]
            return (seen[0]["groupState"], len(seen[0]["members"])) == (group.state, len(group.members))

        eventually(lambda: f"the real group as ours: {group}, not {seen}", looks_as_ours)

    def take_answer(self, client: str, response: Message) -> None:
        """Ours has answered: takes the answer of the real broker, too."""
        request, version, connection = self._requests.pop(id(response))
        answer = self._wire.receive(self._port, connection)
        assert "body" in answer, f"the real broker gave {answer} to {request.NAME} of {client}"
        self._busy.discard(connection)
        if self._script is not None:
            self._script.learn(client, response)
        ours, real = to_json(response, version), answer["body"]
        if ours.get("memberId") and real.get("memberId"):
            self._real_ids.setdefault(ours["memberId"], real["memberId"])
        if isinstance(request, ListGroupsRequest):
            real["groups"] = [group for group in real["groups"] if group["groupId"].startswith(self._prefix)]
        self._answered.append((request.NAME, client, ours, real))

    def play_random(self, script: "RandomScript", commands: int) -> None:
        """Plays commands that react to the answers."""
        self._script = script
        for _ in range(commands):
            busy = {connection.removeprefix(self._prefix)[0] for connection in self._busy}
            command = script.next(busy)
            if command is not None:
                self.commands.append(command)
                self.play(command)
                self.play("wait 0")

    def answered(self) -> list[Answered]:
        """The answers of both, with our ids in the real broker's answers. Call it when all ids are known."""
        back = {real: our for our, real in self._real_ids.items()}
        return [
            (name, client, _comparable(ours), _comparable(_translated(real, back, self._prefix)))
            for name, client, ours, real in self._answered
        ]

    def _translate_request(self, structure: Structure) -> None:
        """Replaces our ids by the real broker's. Our coordinator has already read the request."""
        for name in structure.__slots__:
            value = getattr(structure, name)
            if name == "topic_id" and value != bytes(16):
                real = self._real_ids.get(_uuid_text(value), _uuid_text(value))
                setattr(structure, name, base64.urlsafe_b64decode(real + "=="))
            elif isinstance(value, str):
                setattr(structure, name, self._real_text(name, value))
            elif isinstance(value, list):
                for item in value:
                    if isinstance(item, Structure):
                        self._translate_request(item)
                if value and isinstance(value[0], str):
                    setattr(structure, name, [self._real_text(name, item) for item in value])

    def _real_text(self, name: str, value: str) -> str:
        if name == "member_id":
            return self._real_ids.get(value, value)
        return self._prefixed(value) if name in ("group_id", "groups", "groups_names") else value

    def _prefixed(self, group_id: str) -> str:
        return f"{self._prefix}{group_id}" if group_id else group_id


def _translated(json: Any, ids: dict[str, str], prefix: str, key: str = "") -> Any:
    """A real broker's answer with our ids of members and topics, and groups without their prefix."""
    if isinstance(json, dict):
        return {name: _translated(value, ids, prefix, name) for name, value in json.items()}
    if isinstance(json, list):
        return [_translated(item, ids, prefix, key) for item in json]
    if key in ("memberId", "leader", "topicId"):
        return ids.get(json, json)
    return json.removeprefix(prefix) if key == "groupId" else json


def _comparable(json: Any) -> Any:
    """An answer without texts that differ between brokers, with sorted lists."""
    if isinstance(json, dict):
        return {name: _comparable(value) for name, value in json.items() if name not in _OF_THE_BROKER}
    if isinstance(json, list):
        return sorted((_comparable(item) for item in json), key=repr)
    return json


def differences(answered: list[Answered]) -> Iterator[str]:
    """One line for each answer that differs."""
    for name, client, ours, real in answered:
        if ours != real:
            yield f"{name} of {client}:\n  ours {ours}\n  real {real}"


class RandomScript:
    """Random commands of two members, one of them static, that react to their answers.

    Two, because Kafka chooses the next leader of three at random. Session and rebalance timeouts are the longest that
    Kafka allows: in the real broker they end by its clock, in ours never. A rebalance often waits for a member that
    never returns (a client that joined again as a new member), so a shorter timeout could end on a busy machine.
    """

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        self._known: dict[str, list[tuple[str, int]]] = {"a": [("", -1)], "s": [("", -1)]}

    def learn(self, client: str, response: Message) -> None:
        """Takes member id and generation from a JoinGroup's answer."""
        if isinstance(response, JoinGroupResponse) and response.member_id:
            self._known[client] = [*self._known[client][-2:], (response.member_id, response.generation_id)]

    def next(self, busy: set[str]) -> str | None:
        """The next command, None if the chosen client waits for an answer."""
        client = self._random.choice("as")
        if client in busy:
            return None
        newest = self._random.random() < 0.8
        member_id, generation_id = self._known[client][-1] if newest else self._random.choice(self._known[client])
        instance = f" group_instance_id=i{client}" if client == "s" else ""
        identity = f"group_id=g generation_id={generation_id} member_id={member_id}{instance}"
        protocols = self._random.choice(("range:x", "range:x", "range:x,sticky:y", "sticky:z,range:x", "sticky:y"))
        match self._random.choice("jjjjsssshhcl"):
            case "j":
                member = member_id if self._random.random() < 0.8 else ""
                timeouts = f"session_timeout_ms={LONGEST_MS} rebalance_timeout_ms={LONGEST_MS} protocol_type=consumer"
                version = self._random.choice((5, 7, 9))
                identity = f"group_id=g member_id={member}{instance}"
                return f"{client}: JoinGroup {version} {identity} {timeouts} protocols={protocols}"
            case "s":
                assignments = ",".join(f"{known[-1][0]}:{name}" for name, known in self._known.items() if known[-1][0])
                return f"{client}: SyncGroup 3 {identity} assignments={assignments}"
            case "h":
                return f"{client}: Heartbeat 4 {identity}"
            case "c":
                commit = identity.replace("generation_id", "generation_id_or_member_epoch")
                return f"{client}: OffsetCommit 8 {commit} topics=t:0@{self._random.randrange(100)}"
            case _:
                return f"{client}: LeaveGroup 4 group_id=g members={member_id}{'/is' if client == 's' else ''}"
