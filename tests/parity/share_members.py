"""Members of a share group on one broker: their requests, and the answers with ids replaced by common names."""

import time
from typing import Any

from odradek.protocol.messages.share_groups import (
    AlterShareGroupOffsetsRequest,
    DeleteShareGroupOffsetsRequest,
    DescribeShareGroupOffsetsRequest,
    ShareGroupDescribeRequest,
    ShareGroupHeartbeatRequest,
)
from parity.consumer_members import Members
from parity.side import DEADLINE_S

INTERVAL_MS = 5_000


class ShareMembers(Members):
    """A share group on one broker. A member's id is its name.

    Our members that wait for partitions are told a short heartbeat interval (docs/differences.md): it is taken for the
    default one."""

    def heartbeat(self, who: str, epoch: int | None = None, version: int = 1, **fields: Any) -> Any:
        """Sends a heartbeat, with the epoch of the last answer by default."""
        request = ShareGroupHeartbeatRequest(
            **{
                "group_id": self.name,
                "member_id": who,
                "member_epoch": self.epochs.get(who, 0) if epoch is None else epoch,
                "subscribed_topic_names": None,
                **fields,
            }
        )
        body = self.side.ask(request, version)
        if not body["errorCode"]:
            self.epochs[who] = body["memberEpoch"]
            if self.side.is_ours and body["memberEpoch"] > 0:
                body["heartbeatIntervalMs"] = max(body["heartbeatIntervalMs"], INTERVAL_MS)
        return self.named(body)

    def join(self, who: str, *names: str, **fields: Any) -> Any:
        """Joins, subscribing to topics by name."""
        return self.heartbeat(who, 0, subscribed_topic_names=list(names), **fields)

    def leave(self, who: str, epoch: int = -1, **fields: Any) -> Any:
        return self.heartbeat(who, epoch, **fields)

    def until_initialized(self, topics: dict[str, int]) -> None:
        """Waits until the group has noted that the state of all partitions of topics is stored."""
        deadline = time.monotonic() + DEADLINE_S
        while self._initialized() != topics:
            assert time.monotonic() < deadline, (self._initialized(), topics)

    def _initialized(self) -> dict[str, int]:
        kind = DescribeShareGroupOffsetsRequest
        asked = kind.DescribeShareGroupOffsetsRequestGroup(self.name)
        asked.topics = None
        topics = self.side.ask(kind([asked]), 1)["groups"][0]["topics"]
        return {topic["topicName"]: len(topic["partitions"]) for topic in topics}

    def sizes(self, *members: str) -> list[tuple[int, Any]]:
        """The epoch of each member, and the number of its partitions by topic, of a description of the group."""
        described = {one["memberId"]: one for one in self.describe()["groups"][0]["members"]}
        found = []
        for who in members:
            one = described[who]
            topics = sorted(
                (each["topicName"], len(each["partitions"])) for each in one["assignment"]["topicPartitions"]
            )
            found.append((one["memberEpoch"], topics))
        return sorted(found)

    def describe(self, version: int = 1, **fields: Any) -> Any:
        return self.named(self.side.ask(ShareGroupDescribeRequest([self.name], **fields), version))

    def offsets(self, topics: dict[str, list[int]] | None, version: int = 1) -> Any:
        kind = DescribeShareGroupOffsetsRequest
        asked = kind.DescribeShareGroupOffsetsRequestGroup(self.name)
        asked.topics = None
        if topics is not None:
            asked.topics = [
                kind.DescribeShareGroupOffsetsRequestTopic(name, indexes) for name, indexes in topics.items()
            ]
        return self.named(self.side.ask(kind([asked]), version))

    def alter(self, topics: dict[str, dict[int, int]], group_id: str | None = None) -> Any:
        kind = AlterShareGroupOffsetsRequest
        asked = [
            kind.AlterShareGroupOffsetsRequestTopic(
                name, [kind.AlterShareGroupOffsetsRequestPartition(index, offset) for index, offset in offsets.items()]
            )
            for name, offsets in topics.items()
        ]
        return self.named(self.side.ask(kind(self.name if group_id is None else group_id, asked), 0))

    def delete_offsets(self, *names: str, group_id: str | None = None) -> Any:
        kind = DeleteShareGroupOffsetsRequest
        topics = [kind.DeleteShareGroupOffsetsRequestTopic(name) for name in names]
        return self.named(self.side.ask(kind(self.name if group_id is None else group_id, topics), 0))
