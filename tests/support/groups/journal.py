"""What the members of a group saw, one file for each member, and the rules for all of them together.

A member writes one JSON array a line: time (ns of the machine's monotonic clock), event, facts. The rules: no record is
lost or out of order in its partition, a new owner of a partition continues at the committed offset, and in one
generation of a group a partition has one owner.

A journal is named after its member. A suffix after "~" distinguishes processes that were the same static member.
"""

import json
import time
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any


class Journal:
    """Writes the journal of one member."""

    def __init__(self, path: Path) -> None:
        self._file = path.open("a", buffering=1)

    def assigned(self, partitions: Iterable[int], generation: int) -> None:
        """The member got partitions in this generation; -1 if it has lost its membership since."""
        self._write("assigned", [generation, sorted(partitions)])

    def revoked(self, partitions: Iterable[int]) -> None:
        """The member lost partitions."""
        self._write("revoked", sorted(partitions))

    def received(self, partition: int, records: list[tuple[int, int]]) -> None:
        """The member received records of a partition: (offset, number) each."""
        self._write("received", [partition, records])

    def committed(self, ends: Mapping[int, int]) -> None:
        """The broker acknowledged these next offsets."""
        self._write("committed", sorted(ends.items()))

    def commit_failed(self, reason: str) -> None:
        """A commit was refused or not answered."""
        self._write("commit failed", reason)

    def failed(self, reason: str) -> None:
        """The client reported an error instead of a record."""
        self._write("failed", reason)

    def _write(self, event: str, facts: Any) -> None:
        self._file.write(json.dumps([time.monotonic_ns(), event, facts]) + "\n")


@dataclass
class GroupHistory:
    """The content of all members' journals, and what follows from it."""

    delivered: dict[int, dict[int, int]] = field(default_factory=lambda: defaultdict(dict))
    """Partition -> offset -> number."""
    committed: dict[int, int] = field(default_factory=dict)
    """Partition -> the highest acknowledged offset; it is that of the next record."""
    assigned: dict[str, list[int]] = field(default_factory=dict)
    """Process -> its partitions at the end."""
    generations: dict[str, int] = field(default_factory=dict)
    """Process -> the generation of its last assignment."""
    failures: list[str] = field(default_factory=list)
    violations: list[str] = field(default_factory=list)
    """The broken rules, as texts."""

    @property
    def numbers(self) -> set[int]:
        """The numbers that were delivered."""
        return {number for by_offset in self.delivered.values() for number in by_offset.values()}


def read_history(journals: Iterable[Path]) -> GroupHistory:
    """Merges the journals by time and checks the rules. An incomplete last line is ignored."""
    events = []
    for path in journals:
        text = path.read_text() if path.exists() else ""
        for line in text.splitlines(keepends=True):
            if line.endswith("\n"):
                at, event, facts = json.loads(line)
                events.append((at, path.stem, event, facts))
    history = GroupHistory()
    reading = _EventWalk(history)
    for _, member, event, facts in sorted(events, key=lambda entry: entry[0]):
        reading.take(member, event, facts)
    for partition, by_offset in history.delivered.items():
        ordered = [by_offset[offset] for offset in sorted(by_offset)]
        if ordered != sorted(ordered):
            history.violations.append(f"partition {partition} is not in the order of sending")
    return history


class _EventWalk:
    """Checks the rules event by event."""

    def __init__(self, history: GroupHistory) -> None:
        self._history = history
        self._next: dict[tuple[str, int], int | None] = {}
        """(member, partition) -> the offset that must come next; None right after an assignment."""
        self._floor: dict[tuple[str, int], int] = {}
        """(member, partition) -> the committed offset when the partition was assigned."""
        self._owners: dict[tuple[int, int], str] = {}
        """(generation, partition) -> the member."""

    def take(self, member: str, event: str, facts: Any) -> None:
        """Adds one event."""
        history = self._history
        held = history.assigned.setdefault(member, [])
        if event == "assigned":
            generation, partitions = facts
            for partition in partitions:
                self._next[member, partition] = None
                self._floor[member, partition] = history.committed.get(partition, 0)
            held[:] = sorted({*held, *partitions})
            history.generations[member] = generation
            self._owned(member.partition("~")[0], generation, held)
        elif event == "revoked":
            held[:] = sorted(set(held) - set(facts))
        elif event == "received":
            partition, records = facts
            for offset, number in records:
                self._received(member, partition, offset, number)
        elif event == "committed":
            for partition, end in facts:
                history.committed[partition] = max(end, history.committed.get(partition, 0))
        elif event == "failed":
            history.failures.append(f"{member}: {facts}")

    def _owned(self, member: str, generation: int, partitions: list[int]) -> None:
        if generation < 0:
            return
        for partition in partitions:
            owner = self._owners.setdefault((generation, partition), member)
            if owner != member:
                self._history.violations.append(f"generation {generation}: {owner} and {member} own {partition}")

    def _received(self, member: str, partition: int, offset: int, number: int) -> None:
        history = self._history
        where = f"{member}, partition {partition}, offset {offset}"
        expected = self._next.get((member, partition))
        if expected is None:
            floor = self._floor.get((member, partition), 0)
            if offset < floor:
                history.violations.append(f"{where}: begins before the committed offset {floor}")
        elif offset != expected:
            history.violations.append(f"{where}: expected offset {expected}")
        self._next[member, partition] = offset + 1
        before = history.delivered[partition].setdefault(offset, number)
        if before != number:
            history.violations.append(f"{where}: number {number}, earlier {before}")
