"""The ``sticky`` assignor of streams groups: members keep the tasks whose state they have, within equal shares.

An active task goes to the member that has it; or to a member that has its state, as a standby task or by the offsets
that it reports; or to the least loaded process. Standby tasks go to other processes than the active one: to the member
that had the task as an active one, to a member that has its state, or to the least loaded process.

Pure. Owns: that rule. Never does: looking at racks (4.4.0 passes rack tags to assignors; this one ignores them),
warm-up tasks. Invariants: each active task has one member; a process has a task once at most; the result is that of
Kafka, whose hash maps and heaps decide between equals. Source: ``StickyTaskAssignor``; KIP-1071.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from odradek.protocol.common.steps import Steps
from odradek.protocol.java.hash import compute_if_absent_order_steps, hash_map_order_steps
from odradek.protocol.java.priority_queue import PriorityQueue

from ..modern.assignment import A_STEP
from .configured_topology import ConfiguredSubtopology
from .process_loads import Process, Quota
from .tasks import NO_PARTITIONS, MemberTasks, Task, Tasks, by_subtopology


class StreamsMemberSpec(NamedTuple):
    """One member, as the assignor sees it. ``assigned``: the tasks that it has now (not its target, since 4.4.0).
    ``offsets``: the offsets of state stores that it reported last (``TaskOffsets.offsets``)."""

    process_id: str
    assigned: MemberTasks
    offsets: Mapping[Task, int] = {}


class TaskAssignorError(Exception):
    """The assignor cannot assign (``TaskAssignorException``): the heartbeat is answered UNKNOWN_SERVER_ERROR."""


def assign_in_steps(
    members: Mapping[str, StreamsMemberSpec], subtopologies: Mapping[str, ConfiguredSubtopology], standby_replicas: int
) -> Steps[dict[str, Tasks]]:
    """Computes the target assignment of all members, in steps.

    ``members``: in the order in which Kafka puts them into a map: that of :func:`.timeline_map_order_steps`, a new
    member last. ``standby_replicas``: the number of standby tasks of each stateful task. Raises TaskAssignorError if
    there are tasks and no members.
    """
    member_ids = yield from hash_map_order_steps(members)
    processes = yield from _processes(members, member_ids)
    active = _tasks(subtopologies.items())
    yield
    stateful = _tasks(item for item in subtopologies.items() if item[1].is_stateful)
    yield
    if active and not members:
        raise TaskAssignorError("No process available to assign active task {}_{}.".format(*min(active)))
    assigning = _Assigning(
        members,
        processes,
        Quota(len(active), len(members)),
        Quota(len(active) + len(stateful) * standby_replicas, len(members)),
        {member_id: set() for member_id in member_ids},
        {member_id: set() for member_id in member_ids},
    )
    former = yield from _former_holders(members, member_ids)
    yield from _assign_active(assigning, former, active)
    yield from _assign_standby(assigning, former, stateful, standby_replicas)
    return (yield from _result(assigning))


class _FormerHolders(NamedTuple):
    """The members that have the state of tasks. ``standby``: the best first."""

    active: dict[Task, str]
    standby: dict[Task, list[str]]


class _Assigning(NamedTuple):
    """The tasks that members have got so far, and how many more each may get."""

    members: Mapping[str, StreamsMemberSpec]
    processes: dict[str, Process]
    active_quota: Quota
    quota: Quota
    active: dict[str, set[Task]]
    standby: dict[str, set[Task]]

    def process(self, member_id: str) -> Process:
        return self.processes[self.members[member_id].process_id]

    def has_room(self, member_id: str, quota: Quota) -> bool:
        return self.process(member_id).counts[member_id] < quota.each

    def give_active(self, member_id: str, task: Task) -> None:
        self.note_active(member_id, task, self.process(member_id).give(member_id, task))

    def note_active(self, member_id: str, task: Task, count: int) -> None:
        self.active[member_id].add(task)
        self.active_quota.note(count)
        self.quota.note(count)

    def give_standby(self, member_id: str, task: Task) -> None:
        self.note_standby(member_id, task, self.process(member_id).give(member_id, task))

    def note_standby(self, member_id: str, task: Task, count: int) -> None:
        self.standby[member_id].add(task)
        self.quota.note(count)

    def by_load(self) -> Steps[PriorityQueue[Process]]:
        queue: PriorityQueue[Process] = PriorityQueue()
        for number, process in enumerate(self.processes.values(), 1):
            queue.add(process.load, process)
            if number % A_STEP == 0:
                yield
        return queue

    def least_loaded(self, holders: Iterable[str], task: Task | None) -> str | None:
        """Returns the holder whose process and which itself is less loaded than the ones before it. Leaves out
        processes that have ``task``."""
        found = None
        found_load, found_count = 0.0, 0
        for member_id in holders:
            process = self.process(member_id)
            if task is not None and task in process.tasks:
                continue
            count = process.counts[member_id]
            if found is None or (process.load < found_load and count < found_count):
                found, found_load, found_count = member_id, process.load, count
        return found


def _processes(members: Mapping[str, StreamsMemberSpec], member_ids: Sequence[str]) -> Steps[dict[str, Process]]:
    """Returns the processes and their members in the order of hash maps."""
    found: dict[str, list[str]] = {}
    for member_id in member_ids:
        found.setdefault(members[member_id].process_id, []).append(member_id)
    yield
    processes = {}
    process_ids = [members[member_id].process_id for member_id in member_ids]
    for process_id in (yield from compute_if_absent_order_steps(process_ids, len(members))):
        its_members = found[process_id]
        if len(its_members) > 1:
            its_members = yield from hash_map_order_steps(its_members)
        processes[process_id] = Process(its_members)
    return processes


def _tasks(subtopologies: Iterable[tuple[str, ConfiguredSubtopology]]) -> list[Task]:
    return [
        (subtopology_id, partition)
        for subtopology_id, subtopology in subtopologies
        for partition in range(subtopology.number_of_tasks)
    ]


def _by_partition(task: Task) -> tuple[int, str]:
    """Orders tasks so that members keep tasks of equal partitions together."""
    return task[1], task[0]


def _former_holders(members: Mapping[str, StreamsMemberSpec], member_ids: Sequence[str]) -> Steps[_FormerHolders]:
    """Members that have a task as a standby come before those that only reported an offset; then the higher offset."""
    active: dict[Task, str] = {}
    ranked: dict[Task, list[tuple[int, int, str]]] = {}
    looked_at = 0
    for member_id in member_ids:
        spec = members[member_id]
        for task in _each(spec.assigned.active):
            active[task] = member_id
        for task in _each(spec.assigned.standby):
            ranked.setdefault(task, []).append((0, -spec.offsets.get(task, 0), member_id))
        for task, offset in spec.offsets.items():
            if task[1] not in spec.assigned.standby.get(task[0], NO_PARTITIONS):
                ranked.setdefault(task, []).append((1, -offset, member_id))
        looked_at += 1 + _size(spec)
        if looked_at >= A_STEP:
            looked_at = 0
            yield
    standby = {}
    for number, (task, holders) in enumerate(ranked.items(), 1):
        holders.sort(key=lambda holder: holder[:2])
        standby[task] = [member_id for _, _, member_id in holders]
        if number % A_STEP == 0:
            yield
    return _FormerHolders(active, standby)


def _size(spec: StreamsMemberSpec) -> int:
    assigned = spec.assigned
    return sum(map(len, assigned.active.values())) + sum(map(len, assigned.standby.values())) + len(spec.offsets)


def _each(tasks: Mapping[str, Iterable[int]]) -> Iterable[Task]:
    return ((subtopology_id, partition) for subtopology_id, partitions in tasks.items() for partition in partitions)


def _assign_active(assigning: _Assigning, former: _FormerHolders, tasks: list[Task]) -> Steps[None]:
    waiting = sorted(tasks, key=_by_partition)
    yield
    others = []
    for number, task in enumerate(waiting, 1):
        holder = former.active.get(task)
        if holder is not None and assigning.has_room(holder, assigning.active_quota):
            assigning.give_active(holder, task)
        else:
            others.append(task)
        if number % A_STEP == 0:
            yield
    waiting, others = others, []
    for number, task in enumerate(waiting, 1):
        holder = assigning.least_loaded(former.standby.get(task, ()), None)
        if holder is not None and assigning.has_room(holder, assigning.active_quota):
            assigning.give_active(holder, task)
        else:
            others.append(task)
        if number % A_STEP == 0:
            yield
    by_load = yield from assigning.by_load()
    others.sort()
    yield
    for number, task in enumerate(others, 1):
        process = by_load.poll()
        assigning.note_active(*_with_task(process, task))
        by_load.add(process.load, process)
        if number % A_STEP == 0:
            yield


def _with_task(process: Process, task: Task) -> tuple[str, Task, int]:
    member_id, count = process.give_to_least_loaded(task)
    return member_id, task, count


def _assign_standby(
    assigning: _Assigning, former: _FormerHolders, tasks: list[Task], standby_replicas: int
) -> Steps[None]:
    waiting = []
    for number, task in enumerate(sorted(tasks, key=_by_partition, reverse=True), 1):
        for replica in range(standby_replicas):
            holder = _standby_holder(assigning, former, task)
            if holder is None:
                waiting.append((task, standby_replicas - replica))
                break
            assigning.give_standby(holder, task)
        if number % A_STEP == 0:
            yield
    by_load = yield from assigning.by_load()
    waiting.sort(reverse=True)
    yield
    for number, (task, replicas) in enumerate(waiting, 1):
        for _ in range(replicas):
            if not _give_standby_to_least_loaded(assigning, by_load, task):
                break  # each process has the task already
        if number % A_STEP == 0:
            yield


def _standby_holder(assigning: _Assigning, former: _FormerHolders, task: Task) -> str | None:
    """The member with the state of the task that gets it as a standby task."""
    holder = former.active.get(task)
    if (
        holder is not None
        and task not in assigning.process(holder).tasks
        and assigning.has_room(holder, assigning.quota)
    ):
        return holder
    holder = assigning.least_loaded(former.standby.get(task, ()), task)
    return holder if holder is not None and assigning.has_room(holder, assigning.quota) else None


def _give_standby_to_least_loaded(assigning: _Assigning, by_load: PriorityQueue[Process], task: Task) -> bool:
    polled: list[Process] = []
    given = False
    while by_load and not given:
        process = by_load.poll()
        polled.append(process)
        if task not in process.tasks:
            assigning.note_standby(*_with_task(process, task))
            given = True
    # The last one first, as Kafka's recursion does.
    for process in reversed(polled):
        by_load.add(process.load, process)
    return given


def _result(assigning: _Assigning) -> Steps[dict[str, Tasks]]:
    found = {}
    looked_at = 0
    for member_id, active in assigning.active.items():
        standby = assigning.standby[member_id]
        found[member_id] = Tasks(by_subtopology(active), by_subtopology(standby), {})
        looked_at += 1 + len(active) + len(standby)
        if looked_at >= A_STEP:
            looked_at = 0
            yield
    return found
