"""A seeded simulation: members of share groups (KIP-932), a persister that fails, and a group coordinator that crashes.

A seed determines the run. After every step the coordinator's state and these guarantees are checked:

- the epochs of a member and of a group never decrease, and no member is ahead of its group;
- members are assigned only partitions whose state is stored;
- every stored state belongs to a group that knows it, so that a deletion finds it;
- a restart restores the durable state;
- at the end, without further failures, every member has its target, every partition of a subscribed topic has as many
  readers as the assignor promises, and no deleted group has left state behind.
"""

from collections import Counter
from collections.abc import Sequence
from functools import partial

from odradek.broker.groups.config import GroupCoordinatorConfig
from odradek.broker.groups.share.group import NO_STATE_TOPICS, ShareGroup
from odradek.broker.groups.share.member import member_bytes
from odradek.broker.metadata.image.image import PartitionImage, TopicImage
from odradek.protocol.apis.api_keys import ApiKey
from odradek.protocol.common.steps import run_to_end
from odradek.protocol.errors import ErrorCode
from odradek.protocol.internal_records.share_partition_key import SharePartitionKey
from odradek.protocol.messages import groups, share_groups
from support.groups.harness import Harness

from ..consumer.memory_log_cleaning import clean
from ..simulation import Simulation
from .simulated_share_consumer import SESSION_MS, SimulatedShareConsumer

GROUPS = ("g", "h", "k")
CONSUMERS = 10
TOPIC_NAMES = [f"t{index}" for index in range(5)]
Kind = share_groups.AlterShareGroupOffsetsRequest


class ShareGroupSimulator(Simulation):
    """Share groups, their members, and an administrator."""

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        config = GroupCoordinatorConfig(
            offsets_topic_num_partitions=1,
            group_share_session_timeout_ms=SESSION_MS,
            group_share_assignment_interval_ms=self.random.choice((0, 0, 200, 1_000)),
            group_share_max_size=self.random.choice((3, 200, 200)),
            group_share_initialize_retry_interval_ms=3_000,
            offsets_retention_check_interval_ms=60_000,
        )
        self.harness = Harness(config, {})
        self.persister = self.harness.persister
        self._ids = 0
        self._alike = self.random.random() < 0.5
        self.consumers = [
            SimulatedShareConsumer(f"c{index}", self.harness, self.random.choice(GROUPS)) for index in range(CONSUMERS)
        ]
        self.group_epochs: dict[str, int] = {}
        for _ in range(2):
            self._change_topics()

    # --- the run

    def _take_event(self, choice: float) -> None:
        if choice < 0.3:
            self.harness.timers.advance(self.random.choice((0, 1, 10, 50, 100, 300)))
        elif choice < 0.92:
            self._act(self.random.choice(self.consumers))
        elif choice < 0.935:
            self._zombie()
        elif choice < 0.955:
            self._admin()
        elif choice < 0.965:
            self._change_topics()
        elif choice < 0.98:
            self._disturb_persister()
        elif choice < 0.99:
            self._disk()
        else:
            self._crash()

    def _come_to_rest(self) -> None:
        """Half a minute of heartbeats brings every member to its target."""
        self.persister.fail = ErrorCode.NONE
        self.persister.release()
        for _ in range(75):
            self.harness.timers.advance(400)
            for consumer in self.consumers:
                if consumer.alive and not consumer.waiting:
                    consumer.heartbeat()
            self._check_books()
        for group_id in GROUPS:
            living = [consumer for consumer in self.consumers if consumer.alive and consumer.group_id == group_id]
            check_calm(self.harness.core.groups.share.get(group_id), living, self.harness.image.topics_by_id)

    # --- events

    def _act(self, consumer: SimulatedShareConsumer) -> None:
        choice = self.random.random()
        if not consumer.alive:
            if choice < 0.5:
                self._ids += 1
                consumer.start(f"m{self._ids:06x}{self.random.getrandbits(32):08x}", self._subscription())
        elif self.harness.timers.now_ms < consumer.paused_until_ms:
            return
        elif choice < 0.01:
            self._remember(consumer.group_id, consumer.member_id, consumer.epoch)
            consumer.crash()
        elif choice < 0.015:
            consumer.paused_until_ms = self.harness.timers.now_ms + self.random.choice(
                (SESSION_MS // 2, 2 * SESSION_MS)
            )
        elif consumer.waiting:
            return
        elif choice < 0.035:
            self._remember(consumer.group_id, consumer.member_id, consumer.epoch)
            consumer.leave()
        elif choice < 0.05:
            consumer.subscription = self._subscription()
        else:
            consumer.heartbeat()

    def _subscription(self) -> frozenset[str]:
        if self._alike:
            return frozenset(TOPIC_NAMES[: self.random.choice((2, 5, 5, 5))])
        return frozenset(self.random.sample(TOPIC_NAMES, self.random.randint(1, 5)))

    def _zombie(self) -> None:
        """A member that was removed sends a heartbeat."""
        if not self._past:
            return
        group_id, member_id, epoch = self.random.choice(self._past)
        request = share_groups.ShareGroupHeartbeatRequest(group_id, member_id, max(epoch, 1))
        request.subscribed_topic_names = None
        self.harness.send("zombie", ApiKey.SHARE_GROUP_HEARTBEAT, 1, request, lambda _: None)

    def _admin(self) -> None:
        """Deletes a group, or the offsets of a topic, or sets an offset."""
        group_id, name = self.random.choice(GROUPS), self.random.choice(TOPIC_NAMES)
        choice = self.random.random()
        if choice < 0.4:
            request = groups.DeleteGroupsRequest([group_id])
            self.harness.send("admin", ApiKey.DELETE_GROUPS, 2, request, lambda _: None)
        elif choice < 0.7:
            topic = share_groups.DeleteShareGroupOffsetsRequest.DeleteShareGroupOffsetsRequestTopic(name)
            deletion = share_groups.DeleteShareGroupOffsetsRequest(group_id, [topic])
            self.harness.send("admin", ApiKey.DELETE_SHARE_GROUP_OFFSETS, 0, deletion, lambda _: None)
        else:
            partition = Kind.AlterShareGroupOffsetsRequestPartition(self.random.randint(-1, 8), 7)
            alteration = Kind(group_id, [Kind.AlterShareGroupOffsetsRequestTopic(name, [partition])])
            self.harness.send("admin", ApiKey.ALTER_SHARE_GROUP_OFFSETS, 0, alteration, lambda _: None)

    def _disturb_persister(self) -> None:
        """The persister begins to fail or to wait, or stops to."""
        if self.persister.held or self.persister.fail:
            self.persister.fail = ErrorCode.NONE
            self.persister.release()
        elif self.random.random() < 0.5:
            self.persister.fail = ErrorCode.COORDINATOR_NOT_AVAILABLE
        else:
            self.persister.held = True

    def _change_topics(self) -> None:
        """A topic is created, gets more partitions or is deleted."""
        image = self.harness.image
        name = self.random.choice(TOPIC_NAMES)
        topic = image.topics_by_name.get(name)
        image.last_offset += 1
        if topic is None:
            topic_id = self.random.randbytes(16)
            image.topics_by_name[name] = image.topics_by_id[topic_id] = _topic(
                name, topic_id, self.random.randint(1, 7)
            )
        elif self.random.random() < 0.5 and len(topic.partitions) < 12:
            grown = _topic(name, topic.topic_id, len(topic.partitions) + 1)
            image.topics_by_name[name] = image.topics_by_id[topic.topic_id] = grown
        else:
            del image.topics_by_name[name], image.topics_by_id[topic.topic_id]
            self.harness.log.release()
            self.harness.log.fail_next = None
            run_to_end(self.harness.coordinator.share_topics_deleted([topic.topic_id]))
            self.persister.drop_topics(image.topics_by_id)
        run_to_end(self.harness.coordinator.topics_changed({name}, topic is None))

    def _crash(self) -> None:
        """What the persister was asked for and has not answered may have happened or not."""
        happened = self.random.random() < 0.5
        waiting = self.persister.waiting[:]
        self.persister.waiting.clear()
        self.persister.held = False
        if happened and not self.harness.log.held:
            for answer in waiting:
                answer()
        self._restart(partial(clean, self.harness.log))
        for consumer in self.consumers:
            if consumer.waiting:
                consumer.connection_lost()

    # --- checks

    def _check_books(self) -> None:
        core = self.harness.core
        known: set[SharePartitionKey] = set()
        for group_id in GROUPS:
            group = core.groups.share.get(group_id)
            if group is None:
                self.group_epochs.pop(group_id, None)
                continue
            assert group.group_epoch >= group.assignment_epoch
            assert all(member.member_epoch <= group.group_epoch for member in group.members.values())
            assert group.target_assignment.keys() <= group.members.keys()
            assert group.member_bytes == sum(map(member_bytes, group.members.values()))
            assert group.subscribed_topics == Counter(
                name for member in group.members.values() for name in member.subscribed_topic_names
            )
            topics = group.state_topics or NO_STATE_TOPICS
            known |= _keys(group_id, topics.initialized)
            self._check_assigned(group)
        if not self.harness.log.held:
            stored = {key for key in self.persister.states if key.topic_id in self.harness.image.topics_by_id}
            assert {key for key in known if key.topic_id in self.harness.image.topics_by_id} <= stored

    def _check_assigned(self, group: ShareGroup) -> None:
        """Members have only partitions whose state was stored when they got them."""
        initialized = (group.state_topics or NO_STATE_TOPICS).initialized
        for member in group.members.values():
            for topic_id, partitions in member.assigned.items():
                if topic_id in self.harness.image.topics_by_id:
                    assert topic_id in initialized, f"{group}: {member}"
                    assert partitions <= initialized[topic_id].partitions, f"{group}: {member}"

    def _check_offsets(self) -> None:
        """At the end, each stored state of a topic that exists belongs to a group that knows it."""
        core = self.harness.core
        known: set[SharePartitionKey] = set()
        for group_id, group in core.groups.share.items():
            topics = group.state_topics or NO_STATE_TOPICS
            known |= _keys(group_id, topics.initialized) | _keys(group_id, topics.initializing)
            known |= {key for key in self.persister.states if key[0] == group_id and key.topic_id in topics.deleting}
        existing = {key for key in self.persister.states if key.topic_id in self.harness.image.topics_by_id}
        assert existing <= known, f"left behind: {existing - known}"

    def _settle_uncertain(self) -> None:
        """Share groups commit nothing."""


def _keys(group_id: str, topics: object) -> set[SharePartitionKey]:
    assert isinstance(topics, dict)
    return {SharePartitionKey(group_id, key, index) for key, one in topics.items() for index in one.partitions}


def _topic(name: str, topic_id: bytes, count: int) -> TopicImage:
    partition = PartitionImage(
        replicas=(1,), directories=(bytes(16),), isr=(1,), leader=1, leader_epoch=0, partition_epoch=0
    )
    return TopicImage(name, topic_id, dict.fromkeys(range(count), partition))


def check_calm(
    group: ShareGroup | None, living: Sequence[SimulatedShareConsumer], topics: dict[bytes, TopicImage]
) -> None:
    """Asserts that each member has its target, and that each partition has the promised number of readers."""
    if not living:
        assert group is None or not group.members, f"{group} without a living member"
        return
    assert group is not None
    assert group.members.keys() == {consumer.member_id for consumer in living}
    for consumer in living:
        assert consumer.epoch == group.group_epoch == group.assignment_epoch, f"{consumer} is stuck"
        target = group.target_assignment.get(consumer.member_id, {})
        assert consumer.assigned == {(key, index) for key, indexes in target.items() for index in indexes}
    subscriptions = {consumer.subscription for consumer in living}
    if len(subscriptions) == 1:
        _check_shares(living, {key for key, topic in topics.items() if topic.name in living[0].subscription}, topics)
        return
    for key, topic in topics.items():
        _check_shares([consumer for consumer in living if topic.name in consumer.subscription], {key}, topics)


def _check_shares(
    members: Sequence[SimulatedShareConsumer], wanted: set[bytes], topics: dict[bytes, TopicImage]
) -> None:
    partitions = {(key, index) for key in wanted for index in topics[key].partitions}
    if not members or not partitions:
        return
    owned = [consumer.assigned & partitions for consumer in members]
    readers = Counter(partition for one in owned for partition in one)
    assert readers.keys() == partitions
    assert set(readers.values()) == {-(-len(members) // len(partitions))}
    assert max(map(len, owned)) - min(map(len, owned)) <= 1
