"""A consumer of the consumer protocol (KIP-848), as a client behaves: it joins, heartbeats, reconciles, commits.

It revokes partitions after some time, and reports that before it takes over others. It owns the partitions that the
application reads now. It has one request in flight at a time. The simulator makes all random decisions.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from odradek.protocol.apis.api_keys import ApiKey
from odradek.protocol.errors import ErrorCode
from odradek.protocol.messages import consumer_groups, groups

from ..simulated_member import SimulatedMember, TopicPartition

SESSION_MS = 2_000
REBALANCE_MS = 4_000

ABANDONS = (ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.FENCED_MEMBER_EPOCH, ErrorCode.GROUP_ID_NOT_FOUND)
"""Fatal errors: the consumer gives up all partitions and joins again with the same id."""
GIVES_UP = (
    ErrorCode.FENCED_INSTANCE_ID,
    ErrorCode.GROUP_MAX_SIZE_REACHED,
    ErrorCode.INVALID_REGULAR_EXPRESSION,
    ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC,
)
TRIES_AGAIN = (
    ErrorCode.UNRELEASED_INSTANCE_ID,
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_COORDINATOR,
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
)


@dataclass(frozen=True)
class Subscription:
    """Topics by name, or by a regular expression."""

    names: frozenset[str] = frozenset()
    regex: str | None = None

    def topics(self, existing: Mapping[bytes, str]) -> set[bytes]:
        """The subscribed topics among those that exist (id to name)."""
        pattern = None if self.regex is None else re.compile(self.regex)
        return {
            topic_id
            for topic_id, name in existing.items()
            if name in self.names or (pattern is not None and pattern.fullmatch(name))
        }


@dataclass(repr=False)
class SimulatedConsumer(SimulatedMember[TopicPartition]):
    """One consumer. ``owned``: partitions that the application reads; ``positions``: their offsets, once fetched."""

    new_member_id: Callable[[], str]
    subscription: Subscription = field(default_factory=Subscription)
    assignor: str | None = None
    told_subscription: Subscription | None = None

    # --- life

    def start(self, subscription: Subscription, assignor: str | None) -> None:
        """A new process."""
        self.alive = True
        self.incarnation += 1
        self.member_id = self.new_member_id()
        self.waiting = False
        self.paused_until_ms = 0
        self.subscription = subscription
        self.assignor = assignor
        self.abandon()

    def crash(self) -> None:
        """Dies without a request."""
        self.alive = self.waiting = False
        self.abandon()

    def abandon(self) -> None:
        """Gives up all partitions and will join again."""
        self.epoch = 0
        self.owned = set()
        self.assigned = set()
        self.positions = {}
        self.told = self.told_subscription = None
        self.must_acknowledge = self.telling = False

    def leave(self, for_a_while: bool) -> None:
        """Closes for ever, or as a static member that will return."""
        epoch = -2 if for_a_while else -1
        request = consumer_groups.ConsumerGroupHeartbeatRequest(
            group_id=self.group_id, member_id=self.member_id, member_epoch=epoch, instance_id=self.instance_id
        )
        request.subscribed_topic_names = request.topic_partitions = None
        self.crash()
        self.harness.send(self.name, ApiKey.CONSUMER_GROUP_HEARTBEAT, 1, request, lambda _: None)

    def connection_lost(self) -> None:
        """The request is not answered. The next heartbeat sends all fields again."""
        self.waiting = False
        self.told = self.told_subscription = None

    # --- the protocol

    def heartbeat(self) -> None:
        """Sends the changes since the last answered heartbeat, or everything when it joins."""
        joins = self.epoch == 0
        request = consumer_groups.ConsumerGroupHeartbeatRequest(
            group_id=self.group_id,
            member_id=self.member_id,
            member_epoch=self.epoch,
            instance_id=self.instance_id,
            rebalance_timeout_ms=REBALANCE_MS if self.told_subscription is None else -1,
            server_assignor=self.assignor if self.told_subscription is None else None,
        )
        subscription, told = self.subscription, frozenset(self.owned)
        is_new = subscription != self.told_subscription
        request.subscribed_topic_names = sorted(subscription.names) if is_new else None
        request.subscribed_topic_regex = (subscription.regex or "") if is_new else None
        request.topic_partitions = None
        if self.must_acknowledge and self.owned == self.assigned:
            # Also if its partitions have not changed: the coordinator waits for the confirmation.
            self.must_acknowledge = False
            self.told = None
        if joins or told != self.told:
            self.telling = True
            request.topic_partitions = [
                consumer_groups.ConsumerGroupHeartbeatRequest.TopicPartitions(topic_id, partitions)
                for topic_id, partitions in by_topic(told).items()
            ]

        def answered(response: consumer_groups.ConsumerGroupHeartbeatResponse) -> None:
            error = ErrorCode(response.error_code)
            if error:
                self.failed(error)
                return
            self.telling = False
            assert response.member_id == self.member_id
            assert response.member_epoch >= max(self.epoch, 1), (
                f"{self}: epoch {response.member_epoch} after {self.epoch}"
            )
            self.epoch = response.member_epoch
            self.told, self.told_subscription = told, subscription
            if response.assignment is not None:
                self.must_acknowledge = True
                self.assigned = {
                    (topic.topic_id, partition)
                    for topic in response.assignment.topic_partitions
                    for partition in topic.partitions
                }

        self._ask(ApiKey.CONSUMER_GROUP_HEARTBEAT, 1, request, answered)

    def failed(self, error: ErrorCode) -> None:
        """A heartbeat was refused."""
        if error in ABANDONS:
            self.abandon()
        elif error in GIVES_UP:
            self.crash()
        else:
            assert error in TRIES_AGAIN, f"{self}: {error.name}"
            self.told = self.told_subscription = None

    def give_up_one(self) -> bool:
        """Gives up one partition that it must not own; returns whether there was one."""
        for partition in sorted(self.owned - self.assigned):
            self.owned.discard(partition)
            self.positions.pop(partition, None)
            return True
        return False

    # --- offsets

    def fetch_positions(self, names: Mapping[bytes, str], fetched: Callable[[TopicPartition, int], None]) -> None:
        """Fetches the offsets of the partitions that it has taken over. ``fetched`` gets each, -1 for none."""
        missing = {
            (topic_id, partition) for topic_id, partition in self.owned - self.positions.keys() if topic_id in names
        }
        group = groups.OffsetFetchRequest.OffsetFetchRequestGroup(
            group_id=self.group_id, member_id=self.member_id, member_epoch=self.epoch
        )
        group.topics = [
            groups.OffsetFetchRequest.OffsetFetchRequestTopics(names[topic_id], partition_indexes=partitions)
            for topic_id, partitions in by_topic(frozenset(missing)).items()
        ]
        ids = {name: topic_id for topic_id, name in names.items()}

        def answered(response: groups.OffsetFetchResponse) -> None:
            if response.groups[0].error_code:
                return
            for topic in response.groups[0].topics:
                for partition in topic.partitions:
                    key = (ids[topic.name], partition.partition_index)
                    if not partition.error_code and key in self.owned:
                        fetched(key, partition.committed_offset)
                        self.positions[key] = max(partition.committed_offset, 0)

        if missing:
            self._ask(ApiKey.OFFSET_FETCH, 9, groups.OffsetFetchRequest(groups=[group]), answered)


def by_topic(partitions: frozenset[TopicPartition]) -> dict[bytes, list[int]]:
    """Partition indexes by topic id, in order."""
    found: dict[bytes, list[int]] = {}
    for topic_id, partition in sorted(partitions):
        found.setdefault(topic_id, []).append(partition)
    return found
