"""A seeded simulation: threads of Kafka Streams applications (KIP-1071) and a group coordinator that crashes.

A seed determines the run. After every step the coordinator's state and these guarantees are checked:

- a task is active in one member, and runs in one thread; a process has it once, as an active or a standby task;
- the epochs of a member and of a group never decrease;
- a committed offset is never lower than one acknowledged before it: only the owner of a task may commit;
- no record of a group follows its tombstone, and a group id belongs to one kind of group;
- a restart restores the durable state;
- at the end, without further failures, every group is Stable, every task is active in one member, and has as many
  standby tasks as are wanted and as there are other processes.
"""

from collections import defaultdict
from dataclasses import dataclass, field
from functools import partial

from odradek.broker.groups.config import GroupCoordinatorConfig
from odradek.broker.groups.streams.group import StreamsGroup
from odradek.protocol.apis.api_keys import ApiKey
from odradek.protocol.errors import ErrorCode
from odradek.protocol.messages import consumer_groups, groups, share_groups
from odradek.protocol.messages.streams_groups import StreamsGroupHeartbeatRequest as Request
from support.groups.harness import Harness, decoded_records

from ..consumer.memory_log_cleaning import clean
from ..simulated_member import TopicPartition, commit_request
from ..simulation import Simulation
from .applications import KINDS, SOURCES, TOGETHER, application
from .simulated_streams_thread import SESSION_MS, SimulatedStreamsThread
from .streams_checks import StoredGroups, check_books, check_rest, check_runners, is_owner

GROUPS = ("g", "h")
PROCESSES = 7
OffsetKey = tuple[str, bytes, int]


@dataclass
class SimulatedProcess:
    """A process of an application. Static threads keep its id over restarts, as those with a state directory do."""

    name: str
    group_id: str
    is_static: bool
    threads: list[SimulatedStreamsThread]
    process_id: str = ""
    lives: int = 0
    topology: Request.Topology = field(default_factory=Request.Topology)


class StreamsGroupSimulator(Simulation):
    """Streams groups, the processes of their applications, and an administrator."""

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        config = GroupCoordinatorConfig(
            offsets_topic_num_partitions=1,
            group_streams_session_timeout_ms=SESSION_MS,
            group_streams_min_session_timeout_ms=1_000,
            group_streams_assignment_interval_ms=self.random.choice((0, 0, 200, 1_000)),
            group_streams_initial_rebalance_delay_ms=self.random.choice((0, 500, 3_000)),
            group_streams_num_standby_replicas=self.random.choice((0, 1, 2)),
            group_streams_max_size=self.random.choice((3, 200, 200)),
            group_consumer_session_timeout_ms=SESSION_MS,
            group_share_session_timeout_ms=SESSION_MS,
            offsets_retention_check_interval_ms=60_000,
        )
        self.harness = Harness(config, {})
        self._inline_size = self.random.choice((2_000, 12, 0, 0))
        self._ids = 0
        self.kinds = {group_id: self.random.choice(KINDS) for group_id in GROUPS}
        self.processes = [self._process(f"p{number}") for number in range(PROCESSES)]
        self.threads = [thread for process in self.processes for thread in process.threads]
        self.committed: dict[OffsetKey, int] = {}
        self.uncertain: dict[OffsetKey, list[int]] = defaultdict(list)
        self.epochs: dict[str, tuple[StreamsGroup, int]] = {}
        self._zombies: list[tuple[str, str, int, list[tuple[str, TopicPartition, int]]]] = []
        """Group, member id, epoch and positions of threads that have died, or have given up tasks."""
        self._begin_life()
        for name in SOURCES:
            self.harness.put_topic(name, self.random.randint(1, 4))

    def _process(self, name: str) -> SimulatedProcess:
        group_id = self.random.choice(GROUPS)
        is_static = self.random.random() < 0.3
        threads = [
            SimulatedStreamsThread(
                f"{name}.{number}", self.harness, group_id, f"{name}-{number}" if is_static else None
            )
            for number in range(self.random.choice((1, 1, 2, 3)))
        ]
        return SimulatedProcess(name, group_id, is_static, threads)

    def _begin_life(self) -> None:
        self.harness.core.groups.inline_size = self._inline_size
        stored = StoredGroups(decoded_records(self.harness.log.batches))
        self.harness.log.on_append = stored.take

    @property
    def topic_ids(self) -> dict[str, bytes]:
        """The ids of topics by name."""
        return {name: topic.topic_id for name, topic in self.harness.image.topics_by_name.items()}

    # --- the run

    def _take_event(self, choice: float) -> None:
        if choice < 0.25 and self.harness.core.groups.streaming:
            self._take_turn()
        elif choice < 0.25:
            self.harness.timers.advance(self.random.choice((0, 1, 10, 50, 100, 300)))
        elif choice < 0.93:
            self._act(self.random.choice(self.processes))
        elif choice < 0.945:
            self._zombie()
        elif choice < 0.953:
            self._admin()
        elif choice < 0.955:
            self._stranger()
        elif choice < 0.965:
            self._change_topics()
        elif choice < 0.97:
            self._change_configs()
        elif choice < 0.98:
            self._disturb_creator()
        elif choice < 0.99:
            self._disk()
        else:
            self._crash()

    def _take_turn(self) -> None:
        """One turn of the event loop: of an assignment that is computed in several ones, the next steps."""
        timers = self.harness.timers
        due_ms = timers.next_ms()
        if due_ms is not None and due_ms <= timers.now_ms:
            timers.fire_next()

    def _come_to_rest(self) -> None:
        """Topics that fit together, and a minute of heartbeats, bring every group to rest."""
        self.harness.creator.fail = None
        self.harness.creator.release()
        self._mend_sources()
        for turn in range(180):
            self.harness.timers.advance(400)
            for thread in self.threads:
                if thread.alive and not thread.waiting:
                    while thread.give_up_one():
                        pass
                    thread.take_over()
                    if thread.must_end:
                        thread.leave(False)
                    else:
                        thread.heartbeat()
            if turn in (15, 20, 25, 30):
                self._recreate_internal_topics()
                self._delete_other_groups()
            self._check_books()
        counts = {name: len(topic.partitions) for name, topic in self.harness.image.topics_by_name.items()}
        for group_id in GROUPS:
            living = [thread for thread in self.threads if thread.alive and thread.group_id == group_id]
            check_rest(self.harness.core.groups.streams.get(group_id), living, counts, self._standbys(group_id))

    def _standbys(self, group_id: str) -> int:
        own = self.harness.group_configs.get(group_id, {}).get("streams.num.standby.replicas")
        return self.harness.config.group_streams_num_standby_replicas if own is None else int(own)

    def _mend_sources(self) -> None:
        for name in SOURCES:
            if name not in self.topic_ids:
                self.harness.put_topic(name, self.random.randint(1, 4))
        topics = self.harness.image.topics_by_name
        most = max(len(topics[name].partitions) for name in TOGETHER)
        for name in TOGETHER:
            self.harness.put_topic(name, most)

    def _recreate_internal_topics(self) -> None:
        """Deletes all internal topics, also those that do not fit together, so that they are created anew."""
        for name in [name for name in self.topic_ids if name not in SOURCES]:
            self._delete_topic(name)

    def _delete_other_groups(self) -> None:
        registry = self.harness.core.groups
        for group_id in GROUPS:
            if registry.is_known(group_id) and group_id not in registry.streams:
                self._delete_group(group_id)

    # --- what processes do

    def _act(self, process: SimulatedProcess) -> None:
        thread = self.random.choice(process.threads)
        choice = self.random.random()
        if not any(one.alive for one in process.threads):
            if choice < 0.3:
                self._start(process)
        elif choice < 0.002:
            self._end(process)
        elif not thread.alive:
            if choice < 0.05:
                self._start_thread(process, thread)
        elif self.harness.timers.now_ms >= thread.paused_until_ms:
            self._act_in(process, thread)

    def _act_in(self, process: SimulatedProcess, thread: SimulatedStreamsThread) -> None:
        choice = self.random.random()
        if choice < 0.005:
            self._leaves_behind(thread)
            thread.crash()
        elif choice < 0.01:
            # Longer than its session: it learns later that it was removed, and goes on until then.
            pause_ms = self.random.choice((SESSION_MS // 2, SESSION_MS, 3 * SESSION_MS))
            thread.paused_until_ms = self.harness.timers.now_ms + pause_ms
        elif choice < 0.12:
            self._give_up_one(thread)
        elif choice < 0.24:
            thread.take_over()
        elif thread.waiting:
            return
        elif choice < 0.255 or thread.must_end:
            self._leaves_behind(thread)
            thread.leave(process.is_static and self.random.random() < 0.7)
        elif choice < 0.35:
            thread.fetch_positions(self.topic_ids, partial(self._check_fetched, thread))
        elif choice < 0.5:
            self._commit(thread)
        else:
            thread.loses_next = self.random.random() < 0.03
            offsets = self.random.choice((None, None, self.random.randint(0, 99)))
            thread.heartbeat(offsets, shutdown=self.random.random() < 0.0002)

    def _give_up_one(self, thread: SimulatedStreamsThread) -> None:
        """Gives up a task. A commit for it may be on its way, and arrive at any time."""
        before, positions = thread.partitions(self.topic_ids), dict(thread.positions)
        thread.give_up_one()
        after = thread.partitions(self.topic_ids)
        lost = [(before[key], key, offset) for key, offset in positions.items() if key in before.keys() - after.keys()]
        if lost:
            self._zombies = [*self._zombies[-20:], (thread.group_id, thread.member_id, thread.epoch, lost)]

    def _start(self, process: SimulatedProcess) -> None:
        """All threads of a process start. Now and then it is an application that does not fit, or an older one."""
        process.lives += 1
        if not (process.process_id and process.is_static):
            process.process_id = f"{process.name}-life-{process.lives}"
        kind, epoch = self.kinds[process.group_id], 1
        if self.random.random() < 0.02:
            kind = self.random.choice(KINDS)
        if self.random.random() < 0.03:
            epoch = 0
        process.topology = application(process.group_id, kind, epoch)
        for thread in process.threads:
            self._start_thread(process, thread)

    def _start_thread(self, process: SimulatedProcess, thread: SimulatedStreamsThread) -> None:
        self._ids += 1
        endpoint = Request.Endpoint(process.name, 80) if self.random.random() < 0.3 else None
        thread.start(
            f"member-{self._ids:06x}{self.random.getrandbits(32):08x}", process.process_id, process.topology, endpoint
        )

    def _end(self, process: SimulatedProcess) -> None:
        for thread in process.threads:
            if thread.alive:
                self._leaves_behind(thread)
                thread.crash()

    def _leaves_behind(self, thread: SimulatedStreamsThread) -> None:
        ids = self.topic_ids
        reads = thread.partitions(ids)
        commits = [(reads[key], key, offset) for key, offset in thread.positions.items() if key in reads]
        self._zombies = [*self._zombies[-20:], (thread.group_id, thread.member_id, thread.epoch, commits)]

    # --- offsets

    def _check_fetched(self, thread: SimulatedStreamsThread, partition: TopicPartition, offset: int) -> None:
        key = (thread.group_id, *partition)
        assert offset in (self.committed.get(key, -1), *self.uncertain[key]), f"{thread}: {offset} of {key}"

    def _commit(self, thread: SimulatedStreamsThread) -> None:
        reads = thread.partitions(self.topic_ids)
        known = sorted(key for key in thread.positions if key in reads)
        if not known:
            return
        partition = self.random.choice(known)
        offset = thread.positions[partition] + self.random.randint(1, 9)
        thread.positions[partition] = offset
        answered = self._commits(thread.group_id, partition, offset, f"{thread}")

        def told(error: ErrorCode) -> None:
            answered(error)
            if error in (ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.STALE_MEMBER_EPOCH) and thread.alive:
                # It may continue after records that it could not commit.
                thread.positions.pop(partition, None)

        thread.commit(reads[partition], partition[1], offset, told)

    def _commits(self, group_id: str, partition: TopicPartition, offset: int, owner: str) -> "partial[None]":
        key = (group_id, *partition)
        self.uncertain[key].append(offset)
        return partial(self._committed, key, offset, owner)

    def _committed(self, key: OffsetKey, offset: int, owner: str, error: ErrorCode) -> None:
        if offset in self.uncertain[key]:
            self.uncertain[key].remove(offset)
        if not error and key[1] in self.harness.image.topics_by_id:
            before = self.committed.get(key, -1)
            assert offset >= before, f"{owner} commits {offset} of {key} after {before}"
            self.committed[key] = offset

    def _check_offsets(self) -> None:
        for key, offset in self.committed.items():
            assert self._stored(key) == offset, f"{key}: {self._stored(key)}, not {offset}"

    def _stored(self, key: OffsetKey) -> int | None:
        group_id, topic_id, partition = key
        topic = self.harness.image.topics_by_id.get(topic_id)
        stored = None if topic is None else self.harness.core.offsets.get(group_id, topic.name, partition)
        return None if stored is None else int(stored.offset)

    def _forget_offsets(self, of: "partial[bool]") -> None:
        for key in [key for key in self.committed if of(key)]:
            del self.committed[key]
        for thread in self.threads:
            for partition in [known for known in thread.positions if of((thread.group_id, *known))]:
                del thread.positions[partition]

    # --- others

    def _zombie(self) -> None:
        """A thread that has died sends a request that was delayed. As long as it is a member, it may commit."""
        if not self._zombies:
            return
        group_id, member_id, epoch, commits = self.random.choice(self._zombies)
        if self.random.random() < 0.3 or not commits:
            request = Request(group_id, member_id, max(epoch, 1))
            self.harness.send("zombie", ApiKey.STREAMS_GROUP_HEARTBEAT, 1, request, lambda _: None)
            return
        topic, partition, offset = self.random.choice(commits)
        if self.topic_ids.get(topic) != partition[0]:
            return
        group = self.harness.core.groups.streams.get(group_id)
        if group is None or not group.members:
            return
        may_commit = is_owner(group, member_id, epoch, topic, partition[1])
        answered = self._commits(group_id, partition, offset, member_id)

        def told(response: groups.OffsetCommitResponse) -> None:
            error = ErrorCode(response.topics[0].partitions[0].error_code)
            assert may_commit or error, f"a commit of {member_id} was taken, which does not have the task"
            answered(error)

        commit = commit_request(group_id, member_id, epoch, None, topic, partition[1], offset)
        self.harness.send("zombie", ApiKey.OFFSET_COMMIT, 9, commit, told)

    def _stranger(self) -> None:
        """A consumer, or a member of a share group, wants to join a group under the id of a streams group."""
        group_id = self.random.choice(GROUPS)
        known = self.harness.core.groups.is_known(group_id)
        if not known and self.random.random() < 0.8:
            return
        if self.random.random() < 0.5:
            beat = consumer_groups.ConsumerGroupHeartbeatRequest(group_id, "stranger", 0, rebalance_timeout_ms=1_000)
            beat.subscribed_topic_names, beat.topic_partitions = ["s0"], []
            self.harness.send("stranger", ApiKey.CONSUMER_GROUP_HEARTBEAT, 1, beat, lambda _: None)
        else:
            sharing = share_groups.ShareGroupHeartbeatRequest(group_id, "stranger", 0, None, ["s0"])
            self.harness.send("stranger", ApiKey.SHARE_GROUP_HEARTBEAT, 1, sharing, lambda _: None)

    def _admin(self) -> None:
        group_id = self.random.choice(GROUPS)
        self.harness.log.release()
        self._delete_group(group_id)

    def _delete_group(self, group_id: str) -> None:
        def deleted(response: groups.DeleteGroupsResponse) -> None:
            if not response.results[0].error_code:
                self._forget_offsets(partial(_is_of_group, group_id))
                self.kinds[group_id] = self.random.choice(KINDS)
                for process in self.processes:
                    if process.group_id == group_id:
                        self._end(process)

        request = groups.DeleteGroupsRequest([group_id])
        self.harness.send("admin", ApiKey.DELETE_GROUPS, 2, request, deleted)

    def _change_configs(self) -> None:
        configs = self.harness.group_configs.setdefault(self.random.choice(GROUPS), {})
        key, values = self.random.choice(
            (
                ("streams.num.standby.replicas", ("0", "1", "2")),
                ("streams.session.timeout.ms", ("1000", "2000", "3000")),
                ("streams.initial.rebalance.delay.ms", ("0", "1000")),
                ("streams.assignment.interval.ms", ("0", "500")),
            )
        )
        if configs.pop(key, None) is None:
            configs[key] = self.random.choice(values)

    def _disturb_creator(self) -> None:
        """Internal topics can't be created any more, or are created late, or all is well again."""
        creator = self.harness.creator
        if creator.held or creator.fail is not None:
            creator.fail = None
            creator.release()
        elif self.random.random() < 0.5:
            creator.fail = "no brokers"
        else:
            creator.held = True

    def _change_topics(self) -> None:
        """A topic is created, gets more partitions or is deleted."""
        names = [*SOURCES, *SOURCES, *(name for name in self.topic_ids if name not in SOURCES)]
        name = self.random.choice(names)
        topic = self.harness.image.topics_by_name.get(name)
        if topic is None:
            self.harness.put_topic(name, self.random.randint(1, 4))
        elif self.random.random() < 0.5 and len(topic.partitions) < 6:
            for each in TOGETHER if name in TOGETHER and self.random.random() < 0.8 else (name,):
                if each in self.topic_ids:
                    self.harness.put_topic(each, len(topic.partitions) + 1)
        else:
            self._delete_topic(name)

    def _delete_topic(self, name: str) -> None:
        topic_id = self.topic_ids[name]
        self.harness.log.release()
        self.harness.log.fail_next = None
        self.harness.delete_topic(name)
        self._forget_offsets(partial(_is_of_topic, topic_id))

    def _crash(self) -> None:
        """Topics that were asked for and not answered may have been created or not."""
        if self.random.random() < 0.5:
            self.harness.creator.release()
        self.harness.creator.waiting.clear()
        self.harness.creator.held = False
        self.harness.log.on_append = None
        self._restart(partial(clean, self.harness.log))
        self._begin_life()
        for thread in self.threads:
            if thread.waiting:
                thread.connection_lost()
        self._settle_uncertain()

    def _settle_uncertain(self) -> None:
        for key, offsets in self.uncertain.items():
            found = self._stored(key)
            assert key[1] not in self.harness.image.topics_by_id or found in (self.committed.get(key), *offsets), (
                f"{key}: {found}"
            )
            if found is not None:
                self.committed[key] = found
        self.uncertain.clear()

    # --- checks

    def _check_books(self) -> None:
        registry = self.harness.core.groups
        for group_id in GROUPS:
            others = registry.stored, registry.consumer, registry.share, registry.streams
            assert sum(group_id in kind for kind in others) <= 1, f"{group_id} has several kinds"
            group = registry.streams.get(group_id)
            if group is None:
                self.epochs.pop(group_id, None)
                continue
            before = self.epochs.get(group_id)
            if before is not None and before[0] is group:
                assert group.group_epoch >= before[1], f"{group}: its epoch went back"
            self.epochs[group_id] = group, group.group_epoch
            check_books(group)
            check_runners(group, self.threads)


def _is_of_group(group_id: str, key: OffsetKey) -> bool:
    return key[0] == group_id


def _is_of_topic(topic_id: bytes, key: OffsetKey) -> bool:
    return key[1] == topic_id
