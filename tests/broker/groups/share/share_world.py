"""A coordinator in virtual time with the members of one share group."""

from dataclasses import dataclass
from typing import Any

from odradek.broker.groups.config import GroupCoordinatorConfig
from odradek.broker.groups.share.group import ShareGroup
from odradek.protocol.apis.api_keys import ApiKey
from odradek.protocol.internal_records.share_partition_key import SharePartitionKey
from odradek.protocol.messages.share_groups import (
    AlterShareGroupOffsetsRequest,
    DeleteShareGroupOffsetsRequest,
    DescribeShareGroupOffsetsRequest,
    ShareGroupDescribeRequest,
    ShareGroupHeartbeatRequest,
)
from support.groups.harness import Harness

T, U = b"t" * 16, b"u" * 16
SESSION_MS = 45_000
Assigned = dict[bytes, list[int]]


def config(**settings: Any) -> GroupCoordinatorConfig:
    return GroupCoordinatorConfig(
        offsets_topic_num_partitions=1, **{"group_share_assignment_interval_ms": 0, **settings}
    )


def key_of(topic_id: bytes, partition: int, group_id: str = "g") -> SharePartitionKey:
    return SharePartitionKey(group_id, topic_id, partition)


@dataclass
class ShareWorld:
    """A coordinator, and the epochs and partitions of its members."""

    harness: Harness

    def __post_init__(self) -> None:
        self.epochs: dict[str, int] = {}
        self.assigned: dict[str, Assigned] = {}

    def heartbeat(self, who: str, epoch: int | None = None, names: list[str] | None = None, **fields: Any) -> Any:
        fields = {"group_id": "g", **fields}
        request = ShareGroupHeartbeatRequest(
            member_id=who, member_epoch=self.epochs.get(who, 0) if epoch is None else epoch, **fields
        )
        request.subscribed_topic_names = names
        answer = self.harness.ask(who, ApiKey.SHARE_GROUP_HEARTBEAT, 1, request)
        if not answer.error_code:
            self.epochs[who] = answer.member_epoch
            if answer.assignment is not None:
                self.assigned[who] = {one.topic_id: one.partitions for one in answer.assignment.topic_partitions}
        return answer

    def join(self, who: str, *names: str, **fields: Any) -> Any:
        return self.heartbeat(who, 0, list(names), **fields)

    def leave(self, who: str) -> Any:
        return self.heartbeat(who, -1)

    def wait(self, delay_ms: int = 0) -> None:
        self.harness.timers.advance(delay_ms)

    def settle(self, *members: str) -> None:
        """Lets the persister answer, and sends heartbeats until every member has its target."""
        for _ in range(4):
            self.wait()
            for who in members:
                self.heartbeat(who)

    def describe(self, *group_ids: str) -> Any:
        request = ShareGroupDescribeRequest(list(group_ids or ("g",)))
        return self.harness.ask("admin", ApiKey.SHARE_GROUP_DESCRIBE, 1, request).groups

    def later(self, api: ApiKey, version: int, request: Any) -> Any:
        """The answer to a request that waits for the persister."""
        self.harness.send("admin", api, version, request)
        self.wait()
        return self.harness.answers.pop()[1]

    def alter(self, topics: dict[str, dict[int, int]], group_id: str = "g") -> Any:
        kind = AlterShareGroupOffsetsRequest
        asked = [
            kind.AlterShareGroupOffsetsRequestTopic(
                name, [kind.AlterShareGroupOffsetsRequestPartition(index, offset) for index, offset in offsets.items()]
            )
            for name, offsets in topics.items()
        ]
        return self.later(ApiKey.ALTER_SHARE_GROUP_OFFSETS, 0, kind(group_id, asked))

    def delete(self, *names: str, group_id: str = "g") -> Any:
        kind = DeleteShareGroupOffsetsRequest
        topics = [kind.DeleteShareGroupOffsetsRequestTopic(name) for name in names]
        return self.later(ApiKey.DELETE_SHARE_GROUP_OFFSETS, 0, kind(group_id, topics))

    def offsets(self, topics: dict[str, list[int]] | None, group_id: str = "g") -> Any:
        kind = DescribeShareGroupOffsetsRequest
        asked = kind.DescribeShareGroupOffsetsRequestGroup(group_id)
        asked.topics = None
        if topics is not None:
            asked.topics = [
                kind.DescribeShareGroupOffsetsRequestTopic(name, indexes) for name, indexes in topics.items()
            ]
        return self.later(ApiKey.DESCRIBE_SHARE_GROUP_OFFSETS, 1, kind([asked])).groups[0]

    @property
    def group(self) -> ShareGroup:
        group: ShareGroup = self.harness.core.groups.share["g"]
        return group
