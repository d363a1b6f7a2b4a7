"""What simulated members of consumer groups and streams groups have in common: one request in flight, and commits.

A member takes over what it is assigned only after it has given up what it must, and has reported that.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from odradek.protocol.apis.api_keys import ApiKey
from odradek.protocol.errors import ErrorCode
from odradek.protocol.messages.groups import OffsetCommitRequest
from support.groups.harness import Harness

Part = TypeVar("Part")
"""What members are assigned: partitions or tasks."""
TopicPartition = tuple[bytes, int]


@dataclass
class SimulatedMember(Generic[Part]):
    """One member. ``owned``: what it works on now; ``positions``: the offsets of its partitions, once fetched."""

    name: str
    harness: Harness
    group_id: str
    instance_id: str | None
    alive: bool = field(default=False, init=False)
    incarnation: int = field(default=0, init=False)
    member_id: str = field(default="", init=False)
    epoch: int = field(default=0, init=False)
    waiting: bool = field(default=False, init=False)
    owned: set[Part] = field(default_factory=set, init=False)
    assigned: set[Part] = field(default_factory=set, init=False)
    positions: dict[TopicPartition, int] = field(default_factory=dict, init=False)
    told: frozenset[Part] | None = field(default=None, init=False)
    must_acknowledge: bool = field(default=False, init=False)
    telling: bool = field(default=False, init=False)
    paused_until_ms: int = field(default=0, init=False)

    def take_over(self) -> bool:
        """Takes over what is new once it must give nothing up; returns whether there was anything.

        Not while a heartbeat with less is in flight: the coordinator would regard the new as given up.
        """
        if self.telling or self.owned == self.assigned or self.owned - self.assigned:
            return False
        self.owned = set(self.assigned)
        return True

    def commit(self, topic: str, partition: int, offset: int, answered: Callable[[ErrorCode], None]) -> None:
        """Commits an offset of one partition in the epoch that it knows."""
        self._ask(
            ApiKey.OFFSET_COMMIT,
            9,
            commit_request(self.group_id, self.member_id, self.epoch, self.instance_id, topic, partition, offset),
            lambda response: answered(ErrorCode(response.topics[0].partitions[0].error_code)),
            even_if_gone=True,
        )

    def _ask(
        self, api: ApiKey, version: int, request: Any, answered: Callable[[Any], None], even_if_gone: bool = False
    ) -> None:
        incarnation = self.incarnation
        self.waiting = True

        def on_answer(response: Any) -> None:
            is_here = self.alive and self.incarnation == incarnation
            if is_here:
                self.waiting = False
            if is_here or even_if_gone:
                answered(response)

        self.harness.send(f"{self.name}.{incarnation}", api, version, request, on_answer)

    def __repr__(self) -> str:
        return f"{self.name} ({self.member_id}, instance {self.instance_id}, epoch {self.epoch}) of {self.group_id}"


def commit_request(
    group_id: str, member_id: str, epoch: int, instance_id: str | None, topic: str, partition: int, offset: int
) -> OffsetCommitRequest:
    """An OffsetCommit of one partition."""
    commit = OffsetCommitRequest.OffsetCommitRequestPartition(partition, offset)
    topics = [OffsetCommitRequest.OffsetCommitRequestTopic(topic, partitions=[commit])]
    return OffsetCommitRequest(group_id, epoch, member_id, instance_id, topics=topics)
