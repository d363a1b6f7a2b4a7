"""Members of a consumer group on one broker: their requests, and the answers with ids replaced by common names."""

import base64
import time
from collections.abc import Mapping
from itertools import groupby
from typing import Any

from odradek.broker.coordinator.partitioning import partition_for
from odradek.broker.groups.records import CoordinatorRecord, decode_record
from odradek.protocol.codec import encode
from odradek.protocol.messages.consumer_groups import ConsumerGroupDescribeRequest, ConsumerGroupHeartbeatRequest
from odradek.protocol.messages.group_records import ConsumerProtocolSubscription
from odradek.protocol.messages.groups import (
    DescribeGroupsRequest,
    HeartbeatRequest,
    JoinGroupRequest,
    LeaveGroupRequest,
    ListGroupsRequest,
    OffsetCommitRequest,
    OffsetFetchRequest,
    SyncGroupRequest,
)
from odradek.protocol.messages.structure import Message, Structure
from parity.side import DEADLINE_S, Side

OFFSETS_TOPIC, OFFSETS_PARTITIONS = "__consumer_offsets", 3
CONTROL = 0x20
"""The attribute bit of a control batch."""
SESSION_MS = 300_000
Owned = Mapping[str, list[int]]


def subscription(*topics: str, owned: Owned | None = None, version: int = 1) -> bytes:
    """The subscription that a member of the classic protocol sends."""
    partitions = [ConsumerProtocolSubscription.TopicPartition(name, indexes) for name, indexes in (owned or {}).items()]
    message = ConsumerProtocolSubscription(list(topics), None, partitions)
    return version.to_bytes(2, "big") + encode(message, version)


class Members:
    """A group on one broker. ``ids`` maps a member's name in the test to its member id."""

    def __init__(self, side: Side, name: str) -> None:
        self.side = side
        self.name = side.group(name)
        self.ids: dict[str, str] = {}
        self.epochs: dict[str, int] = {}
        self.generation = 0
        self._partition = partition_for(self.name, OFFSETS_PARTITIONS)
        self._begin = side.end_offset(OFFSETS_TOPIC, self._partition)

    # --- the new protocol

    def heartbeat(self, who: str, epoch: int | None = None, version: int = 1, **fields: Any) -> Any:
        """Sends a heartbeat, with the epoch of the last answer by default. ``owned``: partitions by topic name."""
        owned = fields.pop("owned", None)
        if owned is not None:
            fields["topic_partitions"] = [
                ConsumerGroupHeartbeatRequest.TopicPartitions(self.side.topic_ids[name], indexes)
                for name, indexes in owned.items()
            ]
        request = ConsumerGroupHeartbeatRequest(
            **{
                "group_id": self.name,
                "member_id": self.ids.get(who, who),
                "member_epoch": self.epochs.get(who, 0) if epoch is None else epoch,
                **fields,
            }
        )
        body = self.side.ask(request, version)
        if not body["errorCode"]:
            self.epochs[who] = body["memberEpoch"]
            if body["memberId"] not in (None, who):
                self.ids.setdefault(who, body["memberId"])
        return self.named(body)

    def join(self, who: str, *names: str, **fields: Any) -> Any:
        """Joins, subscribing to topics by name."""
        given = {"rebalance_timeout_ms": 300_000, "subscribed_topic_names": list(names), "owned": {}, **fields}
        return self.heartbeat(who, 0, **given)

    def leave(self, who: str, epoch: int = -1, **fields: Any) -> Any:
        return self.heartbeat(who, epoch, **fields)

    def until_assigned(self, who: str, wanted: Owned, **fields: Any) -> list[Any]:
        """Sends heartbeats until the broker has assigned these partitions. Each broker needs another number of them."""
        deadline = time.monotonic() + DEADLINE_S
        while (given := self.heartbeat(who, **fields)["assignment"]) is None or assigned(given) != dict(wanted):
            assert time.monotonic() < deadline, f"{who} was not given {wanted}"
        return [given]

    def describe(self, version: int = 1, **fields: Any) -> Any:
        body = self.side.ask(ConsumerGroupDescribeRequest([self.name], **fields), version)
        for group in body["groups"]:
            group["members"].sort(key=lambda one: str(self.word(one["memberId"])))
        return self.named(body)

    def state(self) -> str:
        """The state of the group, of either type; Dead if it does not exist."""
        body = self.side.ask(ConsumerGroupDescribeRequest([self.name]), 1)
        if body["groups"][0]["errorCode"]:
            body = self.side.ask(DescribeGroupsRequest([self.name]), 5)
        return str(body["groups"][0]["groupState"])

    def listed(self, *types: str, states: tuple[str, ...] = ()) -> Any:
        body = self.side.ask(ListGroupsRequest(list(states), list(types)), 5)
        return [group for group in body["groups"] if group["groupId"] == self.name]

    # --- the classic protocol

    def classic_join(self, who: str, *names: str, owned: Owned | None = None, **fields: Any) -> Any:
        """Joins by the classic protocol. After MEMBER_ID_REQUIRED, joins again with the given id."""
        request = {
            "session_timeout_ms": SESSION_MS,
            "rebalance_timeout_ms": SESSION_MS,
            "protocol_type": "consumer",
            "protocols": [JoinGroupRequest.JoinGroupRequestProtocol("range", subscription(*names, owned=owned))],
            **fields,
        }
        body = self.side.ask(JoinGroupRequest(self.name, member_id=self.ids.get(who, ""), **request), 7)
        if body["errorCode"] == 79:
            self.ids[who] = body["memberId"]
            body = self.side.ask(JoinGroupRequest(self.name, member_id=self.ids[who], **request), 7)
        if body["memberId"]:
            self.ids[who] = body["memberId"]
        self.generation = body["generationId"]
        return {**self.named(body), "members": len(body["members"])}

    def classic_sync(self, who: str, assignments: Mapping[str, bytes] | None = None, **fields: Any) -> Any:
        given = [
            SyncGroupRequest.SyncGroupRequestAssignment(self.ids[name], data)
            for name, data in (assignments or {}).items()
        ]
        asked = {"protocol_type": "consumer", "protocol_name": "range", "assignments": given, **fields}
        return self.side.ask(SyncGroupRequest(self.name, self.generation, self.ids.get(who, who), **asked), 5)

    def classic_heartbeat(self, who: str, **fields: Any) -> int:
        request = HeartbeatRequest(
            self.name, fields.pop("generation", self.generation), self.ids.get(who, who), **fields
        )
        return int(self.side.ask(request, 4)["errorCode"])

    def classic_leave(self, *members: tuple[str, str | None]) -> Any:
        """Removes members from the group, each given as (member, instance id)."""
        identities = [LeaveGroupRequest.MemberIdentity(self.ids.get(who, who), at) for who, at in members]
        return self.named(self.side.ask(LeaveGroupRequest(self.name, members=identities), 5))

    # --- offsets

    def commit(self, who: str, topic: str, epoch: int, *, partition: int = 0, version: int = 9) -> int:
        one = OffsetCommitRequest.OffsetCommitRequestPartition(partition, 5)
        topics = [OffsetCommitRequest.OffsetCommitRequestTopic(topic, partitions=[one])]
        request = OffsetCommitRequest(self.name, epoch, self.ids.get(who, who), topics=topics)
        return int(self.side.ask(request, version)["topics"][0]["partitions"][0]["errorCode"])

    def fetch(self, who: str | None, epoch: int) -> Any:
        member_id = None if who is None else self.ids.get(who, who)
        asked = OffsetFetchRequest.OffsetFetchRequestGroup(self.name, member_id, epoch, None)
        return self.named(self.side.ask(OffsetFetchRequest(groups=[asked]), 9))

    # --- what is stored

    def records(self) -> list[CoordinatorRecord]:
        """The stored records of this group, in order."""
        found: list[CoordinatorRecord] = []
        offset = self._begin
        while batches := self.side.batches(OFFSETS_TOPIC, offset, self._partition):
            for batch in batches:
                offset = batch["offsets"][1] + 1
                if batch["attributes"] & CONTROL:
                    continue  # the end of another test's transaction
                for _, key, value, _ in batch["records"]:
                    record = decode_record(key, value)
                    if record is not None and self.name in (
                        getattr(record.key, "group_id", None),
                        getattr(record.key, "group", None),
                    ):
                        found.append(record)
        return found

    def told_records(self) -> list[Any]:
        """The records with common names for ids, without times and without hashes, which depend on ids."""
        told = []
        for record in self.records():
            value = None if record.value is None else self.named(plain(record.value))
            told.append((type(record.key).__name__, self.named(plain(record.key)), value, record.value_version))
        # The order of members, and of members that are removed together, depends on ids.
        runs = groupby(told, lambda one: "tombstone" if one[2] is None else one[0])
        return [record for _, run in runs for record in sorted(run, key=str)]

    # --- words

    def named(self, node: Any) -> Any:
        """An answer with each id of the broker replaced by the common name."""
        if isinstance(node, dict):
            if node.get("assignment_epochs"):
                epochs = dict(zip(node["partitions"], node["assignment_epochs"], strict=True))
                return {"topic": self.word(node.get("topic_id", node.get("subtopology_id"))), "epochs": epochs}
            return {key: self.named(value) for key, value in node.items() if key not in MEANINGLESS}
        if isinstance(node, list):
            items = [self.named(item) for item in node]
            # The order of partitions and topics depends on the history of Kafka's hash maps.
            return sorted(items, key=str)
        return self.word(node)

    def word(self, value: Any) -> Any:
        """The common name of an id. Other values are returned unchanged."""
        if isinstance(value, bytes):
            value = base64.urlsafe_b64encode(value).decode().rstrip("=") if len(value) == 16 else value.hex()
        for name, real in self.ids.items():
            if value == real:
                return name
        for name, topic_id in self.side.topic_ids.items():
            if value == base64.urlsafe_b64encode(topic_id).decode().rstrip("="):
                return name
        if isinstance(value, str):
            for name, real in self.ids.items():
                value = value.replace(real, name)
        return value


MEANINGLESS = frozenset(
    {"throttleTimeMs", "clientHost", "client_host", "assignment_timestamp", "metadata_hash", "unknown_tagged_fields"}
    | {"current_state_timestamp", "commit_timestamp", "version", "timestamp"}
)


def assigned(assignment: Any) -> dict[str, list[int]]:
    """Partitions by the names of topics."""
    return {topic["topicId"]: sorted(topic["partitions"]) for topic in assignment["topicPartitions"]}


def plain(message: Message | Structure) -> Any:
    """A message as dictionaries and lists."""
    told = {}
    for name in message.__slots__:
        value = getattr(message, name)
        if isinstance(value, list):
            value = [plain(one) if isinstance(one, Structure) else one for one in value]
        elif isinstance(value, Structure):
            value = plain(value)
        told[name] = value
    return told
