"""The invariants of streams groups that the simulator checks."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from odradek.broker.groups.records import CoordinatorRecord
from odradek.broker.groups.streams.group import StreamsGroup, StreamsGroupState
from odradek.broker.groups.streams.member import member_bytes
from odradek.broker.groups.streams.tasks import Task
from odradek.protocol.messages.group_records import StreamsGroupMetadataKey

from .simulated_streams_thread import ACTIVE, STANDBY, RoleTask, SimulatedStreamsThread


def check_books(group: StreamsGroup) -> None:
    """Asserts that a task is active in one member, that a process has it once, and that the sums are right."""
    active: dict[Task, str] = {}
    held: dict[tuple[str, Task], str] = {}
    for member in group.members.values():
        assert member.member_epoch <= group.group_epoch
        for tasks in (member.assigned, member.pending_revocation):
            assert not tasks.warmup
            for task in _each(tasks.active):
                assert task not in active, f"{group}: {task} is active in {active[task]} and {member.member_id}"
                active[task] = member.member_id
            for task in {*_each(tasks.active), *_each(tasks.standby)}:
                other = held.setdefault((member.process_id, task), member.member_id)
                assert other == member.member_id, f"{group}: {member.process_id} has {task} twice"
        assert not set(_each(member.assigned.active)) & set(_each(member.assigned.standby)), f"{group}: {member}"
    assert group.processes.active == {task: group.members[owner].process_id for task, owner in active.items()}
    assert group.group_epoch >= group.assignment_epoch
    assert group.target_assignment.keys() <= group.members.keys()
    assert group.static_members == {
        member.instance_id: member.member_id for member in group.members.values() if member.instance_id is not None
    }
    assert group.task_offsets.keys() <= group.members.keys()
    offsets = sum(each.used_bytes for each in group.task_offsets.values())
    assert group.member_bytes == offsets + sum(map(member_bytes, group.members.values()))


def check_runners(group: StreamsGroup, threads: Iterable[SimulatedStreamsThread]) -> None:
    """Asserts that a task runs in one thread, and once in a process.

    A removed member that does not know it yet continues, but its commits are refused.
    """
    active: dict[tuple[str, int], SimulatedStreamsThread] = {}
    held: dict[tuple[str, str, int], SimulatedStreamsThread] = {}
    for thread in threads:
        if not thread.owned or thread.group_id != group.group_id or thread.member_id not in group.members:
            continue
        for role, subtopology_id, partition in thread.owned:
            task = subtopology_id, partition
            if role == ACTIVE:
                other = active.setdefault(task, thread)
                assert other is thread, f"{task} runs in {other} and in {thread}"
            other = held.setdefault((thread.process_id, subtopology_id, partition), thread)
            assert other is thread, f"{task} is in {other} and in {thread}"


def check_rest(
    group: StreamsGroup | None,
    living: Sequence[SimulatedStreamsThread],
    partition_counts: Mapping[str, int],
    standbys: int,
) -> None:
    """Asserts that each thread has reached its target, that each task runs in one thread, and that it has as many
    standby tasks as are wanted and as there are other processes."""
    if not living:
        assert group is None or group.state is StreamsGroupState.EMPTY, f"{group} without a living member"
        return
    assert group is not None
    assert group.state is StreamsGroupState.STABLE, f"{group} is stuck: {group.configured}"
    assert group.members.keys() == {thread.member_id for thread in living}
    roles: Counter[RoleTask] = Counter()
    for thread in living:
        target = group.target_of(thread.member_id, None)
        wanted = {(ACTIVE, *task) for task in _each(target.active)} | {
            (STANDBY, *task) for task in _each(target.standby)
        }
        assert thread.owned == thread.assigned == wanted, f"{thread} is stuck"
        assert thread.epoch == group.group_epoch
        roles.update(thread.owned)
    # Members with an older topology epoch may have another topology.
    assert group.topology is not None
    subtopologies = group.topology.subtopologies
    tasks = {
        (subtopology_id, partition)
        for subtopology_id, each in subtopologies.items()
        for partition in range(max(partition_counts[topic] for topic in each.all_source_topics))
    }
    copies = min(standbys, len({thread.process_id for thread in living}) - 1)
    expected: Counter[RoleTask] = Counter((ACTIVE, *task) for task in tasks)
    for subtopology_id, partition in tasks:
        if copies and subtopologies[subtopology_id].state_changelog_topics:
            expected[STANDBY, subtopology_id, partition] = copies
    assert roles == expected, f"{group}: {roles} instead of {expected}"
    loads = [sum(role == ACTIVE for role, *_ in thread.owned) for thread in living]
    assert max(loads) <= -(-len(tasks) // len(living)), f"{group}: active tasks {loads}"


def is_owner(group: StreamsGroup, member_id: str, epoch: int, topic: str, partition: int) -> bool:
    """Whether a member is in an epoch, or has had the task that reads a partition since that epoch at the latest."""
    member = group.members.get(member_id)
    if member is None or epoch > member.member_epoch or group.topology is None:
        return False
    assigned_in = member.task_epoch(group.topology.readers.get(topic, ""), partition)
    return epoch == member.member_epoch or (assigned_in is not None and assigned_in <= epoch)


class StoredGroups:
    """The records of streams groups in a log that are not deleted, as a reader of the log knows them."""

    def __init__(self, records: Iterable[CoordinatorRecord]) -> None:
        """``records``: all that a log has. A cleaned one has them in the order in which they were written last."""
        self._keys: dict[str, set[tuple[str, str]]] = {}
        self.take(list(records))

    def take(self, records: Sequence[CoordinatorRecord]) -> None:
        """Records were stored. Asserts that no group has records without its epoch."""
        touched = set()
        for record in records:
            name = type(record.key).__name__
            if name.startswith("StreamsGroup"):
                group_id = str(getattr(record.key, "group_id", None))
                key = name, str(getattr(record.key, "member_id", ""))
                keys = self._keys.setdefault(group_id, set())
                (keys.discard if record.value is None else keys.add)(key)
                touched.add(group_id)
        for group_id in touched:
            keys = self._keys[group_id]
            epoch = StreamsGroupMetadataKey.__name__, ""
            assert not keys or epoch in keys, f"records of {group_id!r} after its tombstone: {keys}"


def _each(tasks: Mapping[str, Iterable[int]]) -> Iterable[Task]:
    return [(subtopology_id, partition) for subtopology_id, partitions in tasks.items() for partition in partitions]
