"""The processes of a streams group while tasks are assigned: their members, their tasks, and how loaded they are.

Pure. Owns: which member of a process gets a task. Never does: choosing the process. Invariant: a process is as loaded
as it has tasks for each of its members. Source: ``ProcessState``.
"""

from collections.abc import Iterable

from odradek.protocol.java.priority_queue import PriorityQueue

from .tasks import Task


class Process:
    """A process and its members, in the order of Kafka's map."""

    __slots__ = ("_least_loaded", "_total", "counts", "load", "tasks")

    def __init__(self, member_ids: Iterable[str]) -> None:
        self.counts = dict.fromkeys(member_ids, 0)
        """Member id -> the number of its tasks."""
        self.tasks: set[Task] = set()
        self.load = 0.0
        self._total = 0
        self._least_loaded: PriorityQueue[str] | None = None

    def give(self, member_id: str, task: Task) -> int:
        """Gives a member a task, and returns the number of its tasks."""
        self._least_loaded = None
        return self._add(member_id, task)

    def give_to_least_loaded(self, task: Task) -> tuple[str, int]:
        """Gives the member with the fewest tasks another one. Returns the member and the number of its tasks."""
        if len(self.counts) == 1:
            member_id = next(iter(self.counts))
            return member_id, self._add(member_id, task)
        if self._least_loaded is None:
            self._least_loaded = PriorityQueue((count, member_id) for member_id, count in self.counts.items())
        member_id = self._least_loaded.poll()
        count = self._add(member_id, task)
        self._least_loaded.add(count, member_id)
        return member_id, count

    def _add(self, member_id: str, task: Task) -> int:
        self.tasks.add(task)
        self.counts[member_id] += 1
        self._total += 1
        self.load = self._total / len(self.counts)
        return self.counts[member_id]


class Quota:
    """How many tasks a member may have while tasks and members are left (``computeTasksPerMember``)."""

    __slots__ = ("_members", "_tasks", "each")

    def __init__(self, tasks: int, members: int) -> None:
        self._tasks = tasks
        self._members = members
        self.each = 0
        self._share()

    def note(self, count: int) -> None:
        """Notes that a member has ``count`` tasks by now. If that is the quota, the others share what is left."""
        if count == self.each:
            self._members -= 1
            self._tasks -= count
            self._share()

    def _share(self) -> None:
        self.each = -(-self._tasks // self._members) if self._members else 0
