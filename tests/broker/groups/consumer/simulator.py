"""A seeded simulation: consumers of the consumer protocol (KIP-848) and a group coordinator that crashes and restarts.

A seed determines the run, to the byte. After every step the coordinator's state and these guarantees are checked:

- a partition has one owner: no member gets a partition that another member has not released;
- the epochs of a member and of a group never decrease;
- a committed offset is never lower than one acknowledged before it, unless an administrator resets it;
- a restart restores the durable state;
- at the end, without further failures, every group is Stable, every member owns its target, every partition of a
  subscribed topic has an owner.
"""

from collections import defaultdict
from functools import partial

from odradek.broker.groups.config import GroupCoordinatorConfig
from odradek.broker.groups.consumer.member import member_bytes
from odradek.broker.groups.memory import names_bytes
from odradek.broker.metadata.image.image import PartitionImage, TopicImage
from odradek.protocol.apis.api_keys import ApiKey
from odradek.protocol.common.steps import run_to_end
from odradek.protocol.errors import ErrorCode
from odradek.protocol.messages import consumer_groups, groups
from support.groups.harness import Harness

from ..simulated_member import TopicPartition, commit_request
from ..simulation import Simulation
from .consumer_checks import check_calm, check_owners
from .memory_log_cleaning import clean
from .simulated_consumer import (
    SESSION_MS,
    SimulatedConsumer,
    Subscription,
)

GROUPS = ("g", "h", "k")
CONSUMERS = 10
TOPIC_NAMES = [f"t{index}" for index in range(5)]
REGEXES = ("t.*", "t[0-2]", "t[3-9]|t1", "nothing")
OffsetKey = tuple[str, bytes, int]


class ConsumerGroupSimulator(Simulation):
    """Groups of the consumer protocol."""

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        config = GroupCoordinatorConfig(
            offsets_topic_num_partitions=1,
            group_consumer_session_timeout_ms=SESSION_MS,
            group_consumer_assignment_interval_ms=self.random.choice((0, 0, 200, 1_000)),
            group_consumer_max_size=self.random.choice((3, 100, 100)),
            group_consumer_assignors=self.random.choice((("uniform", "range"), ("range", "uniform"))),
            offsets_retention_check_interval_ms=60_000,
        )
        self.harness = Harness(config, {})
        self._ids = 0
        self._alike = self.random.random() < 0.5
        self.consumers = [
            SimulatedConsumer(
                f"c{index}",
                self.harness,
                self.random.choice(GROUPS),
                f"i{index}" if index % 3 == 0 else None,
                self._new_member_id,
            )
            for index in range(CONSUMERS)
        ]
        self.committed: dict[OffsetKey, int] = {}
        self.uncertain: dict[OffsetKey, list[int]] = defaultdict(list)
        self.group_epochs: dict[str, int] = {}
        self.member_epochs: dict[tuple[str, str], int] = {}
        for _ in range(2):
            self._change_topics()

    def _new_member_id(self) -> str:
        self._ids += 1
        return f"member-{self._ids:08x}-{self.random.getrandbits(48):012x}"

    @property
    def topic_names(self) -> dict[bytes, str]:
        """Topic id to name."""
        return {topic_id: topic.name for topic_id, topic in self.harness.image.topics_by_id.items()}

    # --- the run

    def _take_event(self, choice: float) -> None:
        if choice < 0.25:
            self.harness.timers.advance(self.random.choice((1, 10, 50, 100, 300)))
        elif choice < 0.955:
            self._act(self.random.choice(self.consumers))
        elif choice < 0.965:
            self._zombie()
        elif choice < 0.975:
            self._admin()
        elif choice < 0.98:
            self._change_topics()
        elif choice < 0.99:
            self._disk()
        else:
            self._crash()

    def _come_to_rest(self) -> None:
        """Half a minute of heartbeats brings every member to its target."""
        for _ in range(75):
            self.harness.timers.advance(400)
            for consumer in self.consumers:
                if consumer.alive and not consumer.waiting:
                    while consumer.give_up_one():
                        pass
                    consumer.take_over()
                    consumer.heartbeat()
            self._check_books()
        for group_id in GROUPS:
            living = [consumer for consumer in self.consumers if consumer.alive and consumer.group_id == group_id]
            check_calm(self.harness.core.groups.consumer.get(group_id), living, self.harness.image.topics_by_id)

    # --- what consumers do

    def _act(self, consumer: SimulatedConsumer) -> None:
        now_ms = self.harness.timers.now_ms
        choice = self.random.random()
        if not consumer.alive:
            if choice < 0.5:
                consumer.start(self._subscription(), self.random.choice((None, None, "uniform", "range")))
            return
        if now_ms < consumer.paused_until_ms:
            return
        if choice < 0.006:
            self._leaves_behind(consumer)
            consumer.crash()
        elif choice < 0.01:
            # Longer than its session: it learns later that it was removed, and reads until then.
            consumer.paused_until_ms = now_ms + self.random.choice((SESSION_MS // 2, SESSION_MS, 3 * SESSION_MS))
        elif choice < 0.10:
            consumer.give_up_one()
        elif choice < 0.20:
            consumer.take_over()
        elif consumer.waiting:
            return
        elif choice < 0.215:
            self._leaves_behind(consumer)
            consumer.leave(consumer.instance_id is not None and self.random.random() < 0.7)
        elif choice < 0.23:
            consumer.subscription = self._subscription()
        elif choice < 0.35:
            consumer.fetch_positions(self.topic_names, partial(self._check_fetched, consumer))
        elif choice < 0.5:
            self._commit(consumer)
        else:
            consumer.heartbeat()
            if not consumer.waiting:
                self._answered(consumer)

    def _subscription(self) -> Subscription:
        if self._alike:
            return Subscription(frozenset(TOPIC_NAMES[: self.random.choice((2, 5, 5, 5))]))
        match self.random.randrange(6):
            case 0:
                return Subscription(regex=self.random.choice(REGEXES))
            case 1:
                names = self.random.sample(TOPIC_NAMES, 2)
                return Subscription(frozenset(names), self.random.choice(REGEXES))
        return Subscription(frozenset(self.random.sample(TOPIC_NAMES, self.random.randint(0, 5))))

    def _answered(self, consumer: SimulatedConsumer) -> None:
        """Checks that a request that was answered at once was durable at once."""
        if consumer.alive and consumer.epoch > 0:
            group_id = consumer.group_id
            self.group_epochs[group_id] = max(self.group_epochs.get(group_id, 0), consumer.epoch)

    def _leaves_behind(self, consumer: SimulatedConsumer) -> None:
        if consumer.member_id:
            self._remember(consumer.group_id, consumer.member_id, consumer.epoch)

    # --- offsets

    def _check_fetched(self, consumer: SimulatedConsumer, partition: TopicPartition, offset: int) -> None:
        key = (consumer.group_id, *partition)
        assert offset in (self.committed.get(key, -1), *self.uncertain[key]), f"{consumer}: {offset} of {key}"

    def _commit(self, consumer: SimulatedConsumer) -> None:
        names = self.topic_names
        known = sorted(key for key in consumer.positions if key in consumer.owned and key[0] in names)
        if not known:
            return
        topic_id, partition = self.random.choice(known)
        offset = consumer.positions[topic_id, partition] + self.random.randint(1, 9)
        consumer.positions[topic_id, partition] = offset
        key = (consumer.group_id, topic_id, partition)
        self.uncertain[key].append(offset)
        owner = f"{consumer}"

        def answered(error: ErrorCode) -> None:
            self.uncertain[key].remove(offset)
            if not error and topic_id in self.topic_names:
                before = self.committed.get(key, -1)
                assert offset >= before, f"{owner} commits {offset} of {key} after {before}"
                self.committed[key] = offset
            elif error in (ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.STALE_MEMBER_EPOCH) and consumer.alive:
                # It may continue after records that it could not commit.
                consumer.positions.pop((topic_id, partition), None)

        consumer.commit(names[topic_id], partition, offset, answered)

    def _check_offsets(self) -> None:
        for (group_id, topic_id, partition), offset in self.committed.items():
            name = self.topic_names.get(topic_id)
            if name is not None:
                stored = self.harness.core.offsets.get(group_id, name, partition)
                assert stored is not None, f"{group_id} {name}-{partition}: nothing, not {offset}"
                assert stored.offset == offset, f"{group_id} {name}-{partition}: {stored.offset}, not {offset}"

    # --- others

    def _zombie(self) -> None:
        """A member that was removed sends a request."""
        if not self._past:
            return
        group_id, member_id, epoch = self.random.choice(self._past)
        if self.random.random() < 0.5:
            request = consumer_groups.ConsumerGroupHeartbeatRequest(
                group_id=group_id, member_id=member_id, member_epoch=max(epoch, 1)
            )
            request.subscribed_topic_names = request.topic_partitions = None
            self.harness.send("zombie", ApiKey.CONSUMER_GROUP_HEARTBEAT, 1, request, lambda _: None)
        else:
            self._zombie_commit(group_id, f"{member_id}-unknown", epoch)

    def _zombie_commit(self, group_id: str, member_id: str, epoch: int) -> None:
        image = self.harness.image
        group = self.harness.core.groups.consumer.get(group_id)
        if not image.topics_by_name or group is None or not group.members:
            return

        def refused(response: groups.OffsetCommitResponse) -> None:
            assert response.topics[0].partitions[0].error_code, "a stranger's commit was taken"

        request = commit_request(group_id, member_id, epoch, None, min(image.topics_by_name), 0, 0)
        self.harness.send("zombie", ApiKey.OFFSET_COMMIT, 9, request, refused)

    def _admin(self) -> None:
        group_id = self.random.choice(GROUPS)
        self.harness.log.release()
        if self.random.random() < 0.5:
            self._delete_group(group_id)
        else:
            self._reset(group_id)

    def _delete_group(self, group_id: str) -> None:
        def deleted(response: groups.DeleteGroupsResponse) -> None:
            if not response.results[0].error_code:
                self._forget_offsets(lambda key: key[0] == group_id)

        self.harness.send(
            "admin", ApiKey.DELETE_GROUPS, 2, groups.DeleteGroupsRequest(groups_names=[group_id]), deleted
        )

    def _reset(self, group_id: str) -> None:
        """Resets offsets to the beginning, which only an empty group allows."""
        keys = sorted(key for key in self.committed if key[0] == group_id and key[1] in self.topic_names)
        group = self.harness.core.groups.consumer.get(group_id)
        if not keys:
            return
        key = self.random.choice(keys)

        def answered(response: groups.OffsetCommitResponse) -> None:
            error = response.topics[0].partitions[0].error_code
            assert error or group is None or not group.members, "a group with members was reset"
            if not error:
                self.committed[key] = 0

        request = commit_request(group_id, "", -1, None, self.topic_names[key[1]], key[2], 0)
        self.harness.send("admin", ApiKey.OFFSET_COMMIT, 9, request, answered)

    def _forget_offsets(self, of: object) -> None:
        assert callable(of)
        for key in [key for key in self.committed if of(key)]:
            del self.committed[key]
        for consumer in self.consumers:
            for partition in [known for known in consumer.positions if of((consumer.group_id, *known))]:
                del consumer.positions[partition]

    def _change_topics(self) -> None:
        """A topic is created, gets more partitions or is deleted."""
        image = self.harness.image
        name = self.random.choice(TOPIC_NAMES)
        topic = image.topics_by_name.get(name)
        image.last_offset += 1
        if topic is None:
            topic_id = self.random.randbytes(16)
            partitions = {index: _partition() for index in range(self.random.randint(1, 7))}
            image.topics_by_name[name] = image.topics_by_id[topic_id] = TopicImage(name, topic_id, partitions)
            run_to_end(self.harness.coordinator.topics_changed({name}, True))
        elif self.random.random() < 0.5 and len(topic.partitions) < 12:
            partitions = {**topic.partitions, len(topic.partitions): _partition()}
            image.topics_by_name[name] = image.topics_by_id[topic.topic_id] = TopicImage(
                name, topic.topic_id, partitions
            )
            run_to_end(self.harness.coordinator.topics_changed({name}, False))
        else:
            del image.topics_by_name[name], image.topics_by_id[topic.topic_id]
            self.harness.log.release()
            self.harness.log.fail_next = None
            run_to_end(self.harness.coordinator.topics_deleted({name}))
            run_to_end(self.harness.coordinator.topics_changed({name}, False))
            self._forget_offsets(lambda key: key[1] == topic.topic_id)

    def _crash(self) -> None:
        self._restart(partial(clean, self.harness.log))
        for consumer in self.consumers:
            if consumer.waiting:
                consumer.connection_lost()
        self._settle_uncertain()

    def _settle_uncertain(self) -> None:
        for key, offsets in self.uncertain.items():
            group_id, topic_id, partition = key
            name = self.topic_names.get(topic_id)
            stored = None if name is None else self.harness.core.offsets.get(group_id, name, partition)
            found = None if stored is None else stored.offset
            assert name is None or found in (self.committed.get(key), *offsets), f"{key}: {found}"
            if found is not None:
                self.committed[key] = found
        self.uncertain.clear()

    # --- checks

    def _check_books(self) -> None:
        core = self.harness.core
        for group_id in GROUPS:
            group = core.groups.consumer.get(group_id)
            if group is None:
                self.group_epochs.pop(group_id, None)
                continue
            assert group.group_epoch >= self.group_epochs.get(group_id, 0), f"{group}: its epoch went back"
            assert group.group_epoch >= group.assignment_epoch
            check_owners(group, self.consumers)
            static = {
                member.instance_id: member.member_id
                for member in group.members.values()
                if member.instance_id is not None
            }
            assert group.static_members == static
            assert group.target_assignment.keys() <= group.members.keys()
            members = sum(map(member_bytes, group.members.values()))
            assert group.member_bytes == members + sum(names_bytes(one.topics) for one in group.resolved.values())


def _partition() -> PartitionImage:
    return PartitionImage(
        replicas=(1,), directories=(bytes(16),), isr=(1,), leader=1, leader_epoch=0, partition_epoch=0
    )
