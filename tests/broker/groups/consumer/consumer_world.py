"""A coordinator in virtual time with the members of one consumer group."""

from dataclasses import dataclass
from typing import Any

from odradek.broker.groups.config import GroupCoordinatorConfig
from odradek.protocol.apis.api_keys import ApiKey
from odradek.protocol.messages.consumer_groups import ConsumerGroupHeartbeatRequest
from odradek.protocol.messages.groups import HeartbeatRequest, JoinGroupRequest
from parity.consumer_members import subscription
from support.groups.harness import Harness

T = b"t" * 16
SESSION_MS = 45_000
REBALANCE_MS = 30_000
Assigned = dict[bytes, list[int]]


def config(**settings: Any) -> GroupCoordinatorConfig:
    return GroupCoordinatorConfig(
        offsets_topic_num_partitions=1, **{"group_consumer_assignment_interval_ms": 0, **settings}
    )


@dataclass
class World:
    """A coordinator, and the epochs and partitions of its members."""

    harness: Harness

    def __post_init__(self) -> None:
        self.epochs: dict[str, int] = {}
        self.owned: dict[str, Assigned] = {}

    def heartbeat(self, who: str, epoch: int | None = None, **fields: Any) -> Any:
        request = ConsumerGroupHeartbeatRequest("g", who, self.epochs.get(who, 0) if epoch is None else epoch, **fields)
        answer = self.harness.ask(who, ApiKey.CONSUMER_GROUP_HEARTBEAT, 1, request)
        if not answer.error_code:
            self.epochs[who] = answer.member_epoch
            if answer.assignment is not None:
                self.owned[who] = {one.topic_id: one.partitions for one in answer.assignment.topic_partitions}
        return answer

    def join(self, who: str, *names: str, **fields: Any) -> Any:
        given = {"rebalance_timeout_ms": REBALANCE_MS, "subscribed_topic_names": list(names), **fields}
        return self.heartbeat(who, 0, topic_partitions=[], **given)

    def report(self, who: str, **fields: Any) -> Any:
        """A heartbeat with the owned partitions of the member, which are its last assignment."""
        partitions = [
            ConsumerGroupHeartbeatRequest.TopicPartitions(topic, indexes)
            for topic, indexes in self.owned.get(who, {}).items()
        ]
        return self.heartbeat(who, topic_partitions=partitions, **fields)

    def wait(self, delay_ms: int) -> None:
        self.harness.timers.advance(delay_ms)

    @property
    def group(self) -> Any:
        return self.harness.core.groups.consumer["g"]

    @property
    def classic_group(self) -> Any:
        return self.harness.core.groups.classic["g"]

    def classic_join(
        self, who: str, member_id: str = "", protocol: str = "range", metadata: bytes | None = None, **fields: Any
    ) -> Any:
        protocols = [JoinGroupRequest.JoinGroupRequestProtocol(protocol, metadata or subscription("t"))]
        request = JoinGroupRequest("g", 10_000, 20_000, member_id, None, "consumer", protocols, **fields)
        self.harness.send(who, ApiKey.JOIN_GROUP, 3, request)
        return self.harness.answers.pop()[1] if self.harness.answers else None

    def classic_heartbeat(self, member_id: str, generation: int) -> int:
        answer = self.harness.ask("c", ApiKey.HEARTBEAT, 4, HeartbeatRequest("g", generation, member_id))
        return int(answer.error_code)


def two_members(world: World) -> None:
    """Two members that own half of topic t each, in epoch 3."""
    world.join("a", "t")
    world.join("b", "t")
    world.report("a")
    world.report("a")
    world.report("b")
    assert world.owned == {"a": {T: [0, 1]}, "b": {T: [2, 3]}}
    assert world.group.state == "Stable"
