"""Moves a member to its target assignment in steps: give up tasks, enter the next epoch, take over free ones.

Pure. Owns: the steps between the states of a member. Never does: taking a task from a member that has not given it up.
Invariants: at most one member has an active task; a process has a task once at most, in one role; tasks that a member
still gives up count as held. A member that has a task in one role may get it in another one without giving it up first.
Source: ``CurrentAssignmentBuilder``; KIP-1071.

================  =======================================================================================
STABLE            computes the next step if the target assignment is newer
UNREVOKED_TASKS   waits while it owns tasks to give up, then computes the next step
UNRELEASED_TASKS  computes the next step: takes over tasks that have become free
================  =======================================================================================
"""

from collections.abc import Callable, Collection, Iterator, Mapping
from typing import NamedTuple

from odradek.protocol.errors import ErrorCode, KafkaError

from .group import StreamsGroup, TaskProcesses
from .member import StreamsGroupMember, StreamsMemberState
from .tasks import (
    EMPTY_MEMBER_TASKS,
    NO_EPOCHS,
    NO_PARTITIONS,
    MemberTasks,
    SubtopologyTasks,
    Task,
    Tasks,
    by_subtopology,
)

NO_PROCESSES: frozenset[str] = frozenset()


def reconcile(
    group: StreamsGroup, member: StreamsGroupMember, target_epoch: int, target: Tasks, owned: Tasks | None
) -> StreamsGroupMember:
    """Returns the member after its next step; the same object if it has nothing to do.

    ``owned``: the tasks that the member reports in its request; None if it reports none, then no task counts as given
    up. Raises KafkaError FENCED_MEMBER_EPOCH.
    """
    step = _MemberStep(group.processes, member, target_epoch, target, owned)
    match member.state:
        case StreamsMemberState.STABLE:
            return member if member.member_epoch == target_epoch else step.take(member.member_epoch)
        case StreamsMemberState.UNREVOKED_TASKS:
            if step.holds_any(member.pending_revocation):
                return member
            return step.take(member.member_epoch + 1)
        case StreamsMemberState.UNRELEASED_TASKS:
            return step.take(member.member_epoch)
    # A newer Kafka wrote an unknown state: the member starts again without tasks.
    if owned is None or not owned.is_empty:
        raise KafkaError(
            ErrorCode.FENCED_MEMBER_EPOCH,
            "The streams group member is in a unknown state. The member must abandon all its tasks and rejoin.",
        )
    return step.take(target_epoch)


class _TaskDifference(NamedTuple):
    """The tasks of one role: those that stay, those to give up, those to take over, and whether others hold some of
    the target."""

    kept: set[Task]
    revoked: set[Task]
    granted: set[Task]
    unreleased: bool


class _MemberStep(NamedTuple):
    """The input of a member's next step."""

    processes: TaskProcesses
    member: StreamsGroupMember
    target_epoch: int
    target: Tasks
    owned: Tasks | None

    def holds_any(self, tasks: MemberTasks) -> bool:
        """Whether the member may still have some of the tasks."""
        return self.owned is None or self.owned.contains_any(tasks)

    def take(self, member_epoch: int) -> StreamsGroupMember:
        """Computes the next step. ``member_epoch``: the epoch of the member while it gives up tasks."""
        present, target = self.member.assigned, self.target
        active = _difference(present.active, target.active, self._is_active_unreleased)
        standby = _difference(present.standby, target.standby, self._is_standby_unreleased)
        warmup = _difference(present.warmup, target.warmup, self._is_warmup_unreleased)
        _convert(present.active, set(), standby)
        _convert(present.standby, standby.revoked, warmup)
        _convert(present.warmup, warmup.revoked, standby)
        promoted = _common(present.standby, target.active), _common(present.warmup, target.active)
        standby.revoked.difference_update(promoted[0])
        warmup.revoked.difference_update(promoted[1])
        revoked = self._tasks(active.revoked, standby.revoked, warmup.revoked)
        must_revoke = not revoked.is_empty and self.holds_any(revoked)
        # A replica stays until the member gets the task as an active one.
        granted = set() if must_revoke else active.granted
        standby.kept.update(promoted[0] - granted)
        warmup.kept.update(promoted[1] - granted)
        if must_revoke:
            kept = self._tasks(active.kept, standby.kept, warmup.kept)
            return self.member.with_epoch(member_epoch)._replace(
                state=StreamsMemberState.UNREVOKED_TASKS, assigned=kept, pending_revocation=revoked
            )
        unreleased = active.unreleased or standby.unreleased or warmup.unreleased
        return self.member.with_epoch(self.target_epoch)._replace(
            state=StreamsMemberState.UNRELEASED_TASKS if unreleased else StreamsMemberState.STABLE,
            assigned=self._tasks(
                active.kept | active.granted, standby.kept | standby.granted, warmup.kept | warmup.granted
            ),
            pending_revocation=EMPTY_MEMBER_TASKS,
        )

    def _tasks(self, active: set[Task], standby: set[Task], warmup: set[Task]) -> MemberTasks:
        """Active tasks keep the epoch in which they were assigned; new ones get the target's."""
        found: dict[str, dict[int, int]] = {}
        for subtopology_id, partition in active:
            present = self.member.assigned.active.get(subtopology_id, NO_EPOCHS)
            found.setdefault(subtopology_id, {})[partition] = present.get(partition, self.target_epoch)
        return MemberTasks(found, by_subtopology(standby), by_subtopology(warmup))

    def _is_active_unreleased(self, task: Task) -> bool:
        return (
            task in self.processes.active
            or self._is_held_beside(self.processes.standby, self.member.assigned.standby, task)
            or self._is_held_beside(self.processes.warmup, self.member.assigned.warmup, task)
        )

    def _is_standby_unreleased(self, task: Task) -> bool:
        process_id = self.member.process_id
        subtopology_id, partition = task
        runs_beside = self.processes.active.get(
            task
        ) == process_id and partition not in self.member.assigned.active.get(subtopology_id, NO_EPOCHS)
        return (
            runs_beside
            or process_id in self.processes.standby.get(task, NO_PROCESSES)
            or self._is_held_beside(self.processes.warmup, self.member.assigned.warmup, task)
        )

    def _is_warmup_unreleased(self, task: Task) -> bool:
        process_id = self.member.process_id
        return (
            self.processes.active.get(task) == process_id
            or self._is_held_beside(self.processes.standby, self.member.assigned.standby, task)
            or process_id in self.processes.warmup.get(task, NO_PROCESSES)
        )

    def _is_held_beside(self, held: Mapping[Task, Collection[str]], own: SubtopologyTasks, task: Task) -> bool:
        """Whether another member of the same process has the task."""
        subtopology_id, partition = task
        return self.member.process_id in held.get(task, NO_PROCESSES) and partition not in own.get(
            subtopology_id, NO_PARTITIONS
        )


def _difference(
    present: Mapping[str, Collection[int]], target: SubtopologyTasks, is_unreleased: Callable[[Task], bool]
) -> _TaskDifference:
    kept: set[Task] = set()
    revoked: set[Task] = set()
    for task in _each(present):
        (kept if _has(target, task) else revoked).add(task)
    missing = [task for task in _each(target) if task not in kept]
    granted = {task for task in missing if not is_unreleased(task)}
    return _TaskDifference(kept, revoked, granted, len(granted) < len(missing))


def _convert(present: Mapping[str, Collection[int]], revoked: set[Task], other: _TaskDifference) -> None:
    """Gives the member at once what it has in one role and may get in the ``other`` one. It need not give it up."""
    for task in _each(present):
        if task in other.granted:
            other.granted.discard(task)
            other.kept.add(task)
            revoked.discard(task)


def _common(present: SubtopologyTasks, target: SubtopologyTasks) -> set[Task]:
    return {task for task in _each(present) if _has(target, task)}


def _has(tasks: SubtopologyTasks, task: Task) -> bool:
    return task[1] in tasks.get(task[0], NO_PARTITIONS)


def _each(tasks: Mapping[str, Collection[int]]) -> Iterator[Task]:
    for subtopology_id, partitions in tasks.items():
        for partition in partitions:
            yield subtopology_id, partition
