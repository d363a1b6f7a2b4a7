"""The tasks of a streams group: active, standby and warm-up tasks, and the epochs in which active tasks were assigned.

Pure. Owns: the two triples of tasks, and their conversion from and to lists of structures, in records, requests and
responses. Never does: assigning. Invariants: a subtopology without partitions is left out; neither a triple nor its
maps are changed. Source: ``TaskId``, ``TasksTuple``, ``TasksTupleWithEpochs``; KIP-1071.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar

from odradek.protocol.messages.group_records import (
    StreamsGroupCurrentMemberAssignmentValue,
    StreamsGroupTargetAssignmentMemberValue,
)

Task = tuple[str, int]
"""The id of a subtopology, and the partition of its source topics that the task reads."""

SubtopologyTasks = Mapping[str, frozenset[int]]
"""Subtopology id -> partitions."""
TaskEpochs = Mapping[str, Mapping[int, int]]
"""Subtopology id -> partition -> the epoch in which the member got the task."""

NO_PARTITIONS: frozenset[int] = frozenset()
NO_EPOCHS: Mapping[int, int] = {}


class TaskIds(Protocol):
    """A structure ``TaskIds`` of a record, a request or a response."""

    subtopology_id: str
    partitions: list[int]


Structure = TypeVar("Structure")


@dataclass(frozen=True, slots=True)
class Tasks:
    """The tasks of one member, without epochs: its target assignment, or what it reports as owned (``TasksTuple``)."""

    active: SubtopologyTasks
    standby: SubtopologyTasks
    warmup: SubtopologyTasks

    @classmethod
    def of(cls, active: Iterable[TaskIds], standby: Iterable[TaskIds], warmup: Iterable[TaskIds]) -> "Tasks":
        """Returns the tasks of three lists of structures. The caller has refused subtopologies that come twice."""
        return cls(_partitions(active), _partitions(standby), _partitions(warmup))

    @property
    def is_empty(self) -> bool:
        """Whether there are no tasks."""
        return not (self.active or self.standby or self.warmup)

    def contains_any(self, other: "MemberTasks") -> bool:
        """Whether a task is in both, in the same role."""
        return (
            any(_overlap(partitions, other.active.get(each, NO_EPOCHS)) for each, partitions in self.active.items())
            or _any_common(self.standby, other.standby)
            or _any_common(self.warmup, other.warmup)
        )

    def to_record(self) -> StreamsGroupTargetAssignmentMemberValue:
        """Returns the value of the record of a target assignment."""
        return StreamsGroupTargetAssignmentMemberValue(
            active_tasks=task_ids(StreamsGroupTargetAssignmentMemberValue.TaskIds, self.active),
            standby_tasks=task_ids(StreamsGroupTargetAssignmentMemberValue.TaskIds, self.standby),
            warmup_tasks=task_ids(StreamsGroupTargetAssignmentMemberValue.TaskIds, self.warmup),
        )

    def __str__(self) -> str:
        return f"(active={_text(self.active)}, standby={_text(self.standby)}, warmup={_text(self.warmup)})"


@dataclass(frozen=True, slots=True)
class MemberTasks:
    """The tasks that a member has now, or gives up (``TasksTupleWithEpochs``).

    Each active task carries its assignment epoch. A commit for the task needs at least this epoch.
    """

    active: TaskEpochs
    standby: SubtopologyTasks
    warmup: SubtopologyTasks

    @classmethod
    def of(
        cls,
        active: Iterable[StreamsGroupCurrentMemberAssignmentValue.TaskIds],
        standby: Iterable[TaskIds],
        warmup: Iterable[TaskIds],
        member_epoch: int,
    ) -> "MemberTasks":
        """Returns the tasks of the record of a current assignment. Active tasks without epochs, or with epochs of
        another number, get ``member_epoch``."""
        return cls(
            {each.subtopology_id: _epochs(each, member_epoch) for each in active},
            _partitions(standby),
            _partitions(warmup),
        )

    @property
    def is_empty(self) -> bool:
        """Whether there are no tasks."""
        return not (self.active or self.standby or self.warmup)

    def has_all(self, owned: Tasks) -> bool:
        """Whether all tasks that a member reports as owned are in here, in the same role."""
        return (
            all(partitions <= self.active.get(each, NO_EPOCHS).keys() for each, partitions in owned.active.items())
            and _has_all(self.standby, owned.standby)
            and _has_all(self.warmup, owned.warmup)
        )

    def with_epoch(self, epoch: int) -> "MemberTasks":
        """Returns the same tasks, with one epoch for all active ones."""
        active = {subtopology_id: dict.fromkeys(epochs, epoch) for subtopology_id, epochs in self.active.items()}
        return MemberTasks(active, self.standby, self.warmup)

    def __str__(self) -> str:
        return f"(active={_epochs_text(self.active)}, standby={_text(self.standby)}, warmup={_text(self.warmup)})"


EMPTY = Tasks({}, {}, {})
EMPTY_MEMBER_TASKS = MemberTasks({}, {}, {})


def task_ids(make: Callable[..., Structure], tasks: Mapping[str, Iterable[int]]) -> list[Structure]:
    """Returns ``tasks`` as structures that ``make`` makes, such as ``StreamsGroupHeartbeatResponse.TaskIds``. Both
    subtopologies and partitions are in ascending order."""
    return [
        make(subtopology_id=subtopology_id, partitions=sorted(tasks[subtopology_id]))
        for subtopology_id in sorted(tasks)
    ]


def task_ids_with_epochs(tasks: TaskEpochs) -> list[StreamsGroupCurrentMemberAssignmentValue.TaskIds]:
    """Returns active tasks as structures of the record of a current assignment, in ascending order."""
    found = []
    for subtopology_id in sorted(tasks):
        epochs = sorted(tasks[subtopology_id].items())
        found.append(
            StreamsGroupCurrentMemberAssignmentValue.TaskIds(
                subtopology_id=subtopology_id,
                partitions=[partition for partition, _ in epochs],
                assignment_epochs=[epoch for _, epoch in epochs],
            )
        )
    return found


def by_subtopology(tasks: Iterable[Task]) -> dict[str, frozenset[int]]:
    """Returns single tasks by their subtopologies."""
    found: dict[str, set[int]] = {}
    for subtopology_id, partition in tasks:
        found.setdefault(subtopology_id, set()).add(partition)
    return {subtopology_id: frozenset(partitions) for subtopology_id, partitions in found.items()}


def merged(first: SubtopologyTasks, second: SubtopologyTasks) -> SubtopologyTasks:
    """Returns the tasks that are in one of two maps."""
    if not first or not second:
        return first or second
    return {
        subtopology_id: first.get(subtopology_id, NO_PARTITIONS) | second.get(subtopology_id, NO_PARTITIONS)
        for subtopology_id in [*first, *(each for each in second if each not in first)]
    }


def _partitions(structures: Iterable[TaskIds]) -> SubtopologyTasks:
    return {each.subtopology_id: frozenset(each.partitions) for each in structures}


def _epochs(structure: StreamsGroupCurrentMemberAssignmentValue.TaskIds, member_epoch: int) -> Mapping[int, int]:
    partitions: Sequence[int] = structure.partitions
    epochs = structure.assignment_epochs
    if epochs is None or len(epochs) != len(partitions):
        return dict.fromkeys(partitions, member_epoch)
    return dict(zip(partitions, epochs, strict=True))


def _has_all(tasks: SubtopologyTasks, owned: SubtopologyTasks) -> bool:
    return all(partitions <= tasks.get(each, NO_PARTITIONS) for each, partitions in owned.items())


def _overlap(partitions: frozenset[int], others: Iterable[int]) -> bool:
    return not partitions.isdisjoint(others)


def _any_common(first: SubtopologyTasks, second: SubtopologyTasks) -> bool:
    return any(_overlap(partitions, second.get(each, NO_PARTITIONS)) for each, partitions in first.items())


def _text(tasks: SubtopologyTasks) -> str:
    parts = [f"{each}-{partition}" for each in sorted(tasks) for partition in sorted(tasks[each])]
    return f"[{', '.join(parts)}]"


def _epochs_text(tasks: TaskEpochs) -> str:
    parts = [f"{each}-{index}@{epoch}" for each in sorted(tasks) for index, epoch in sorted(tasks[each].items())]
    return f"[{', '.join(parts)}]"
