"""Compares the records that were sent to a topic with those that are read from it.

Pure. Owns: the fate (outcome) of each record, and the findings. Records are numbered from 0 in the order of sending.
All records of a key go to one partition, so checking the order within partitions also checks the order of each key. A
record that was neither acknowledged nor refused may be in the topic or not. Memory: about 15 bytes for each record.
"""

from array import array
from collections import Counter, defaultdict
from dataclasses import dataclass
from enum import Enum, IntEnum

EXAMPLES_MAX = 5
"""The maximum number of example records in a finding."""
UNKNOWN = -1
HERE, AT_PLACE = 1, 2
"""Bit flags. HERE: the record was read. AT_PLACE: it was read at the partition and offset of its acknowledgement."""


class RecordFate(IntEnum):
    """The outcome of a record, as the producer knows it."""

    UNANSWERED = 0
    STORED = 1
    REFUSED = 2
    ABORTED = 3
    IN_DOUBT = 4


class VerifyFindingKind(Enum):
    """The kinds of findings, with the text of each."""

    LOST = "lost: acknowledged or read before, and not in the topic now"
    DUPLICATE = "duplicates: in the topic more than once"
    REORDERED = "out of order: after a later record of the same partition"
    ABORTED = "of aborted transactions, and readable"
    TORN = "transactions of which only a part is in the topic"
    REFUSED = "refused by the broker, and in the topic"
    MISPLACED = "not at the offset of their acknowledgement"
    SKIPPED = "in the topic, but skipped for a reader that followed it"
    UNREAD = "partitions that could not be read to their end"
    NOTHING = "no record was acknowledged, so nothing was verified"


@dataclass(frozen=True, slots=True)
class VerifyFinding:
    """One kind of error: the number of its occurrences, and the first examples."""

    kind: VerifyFindingKind
    count: int
    examples: tuple[str, ...]


class FindingCounts:
    """Counts findings and keeps the first examples of each kind."""

    def __init__(self) -> None:
        self.counts: Counter[VerifyFindingKind] = Counter()
        self.examples: defaultdict[VerifyFindingKind, list[str]] = defaultdict(list)

    def add(self, kind: VerifyFindingKind, example: str) -> None:
        """Counts one finding."""
        self.counts[kind] += 1
        if len(self.examples[kind]) < EXAMPLES_MAX:
            self.examples[kind].append(example)

    def findings(self) -> list[VerifyFinding]:
        """The findings, in the order of ``Kind``."""
        return [
            VerifyFinding(kind, self.counts[kind], tuple(self.examples[kind]))
            for kind in VerifyFindingKind
            if self.counts[kind]
        ]


class Checker:
    """Takes the events of one run, which has one topic."""

    def __init__(self, keys: int) -> None:
        """``keys``: the number of keys. Record n has key n modulo ``keys``."""
        self._keys = keys
        self._fates = bytearray()
        self._partitions = array("i")
        self._offsets = array("q")
        self._followed = bytearray()
        self._in_doubt: list[tuple[int, int]] = []
        self._ends: dict[int, int] = {}
        self._is_followed_to_the_end = False
        self._unread: dict[int, str] = {}
        self.begin_reading()

    # The producer's events

    @property
    def count(self) -> int:
        """The number of records sent."""
        return len(self._fates)

    def sent(self) -> int:
        """Adds a record before it is sent. Returns its number."""
        self._fates.append(RecordFate.UNANSWERED)
        self._partitions.append(UNKNOWN)
        self._offsets.append(UNKNOWN)
        self._followed.append(0)
        return self.count - 1

    def acknowledged(self, number: int, partition: int, offset: int) -> None:
        """Notes that a broker acknowledged the record. ``offset`` is -1 if the broker did not send it."""
        self._partitions[number], self._offsets[number] = partition, offset
        self._ends[partition] = max(self._ends.get(partition, 0), offset + 1)
        if self._fates[number] == RecordFate.UNANSWERED:  # does not replace ABORTED or IN_DOUBT of its transaction
            self._fates[number] = RecordFate.STORED

    def refused(self, number: int) -> None:
        """Notes that the record was certainly not stored."""
        if self._fates[number] == RecordFate.UNANSWERED:
            self._fates[number] = RecordFate.REFUSED

    def aborted(self, first: int, end: int) -> None:
        """Notes that the transaction of the records ``first`` to ``end`` - 1 was aborted."""
        self._fates[first:end] = bytes([RecordFate.ABORTED]) * (end - first)

    def in_doubt(self, first: int, end: int) -> None:
        """Notes that it is unknown whether the transaction of these records was committed.

        Either all or none of them must be readable.
        """
        self._fates[first:end] = bytes([RecordFate.IN_DOUBT]) * (end - first)
        self._in_doubt.append((first, end))

    def of_fate(self, fate: RecordFate) -> int:
        """The number of records with this fate."""
        return self._fates.count(fate)

    # The reader's events

    def owed_until(self, partition: int) -> int:
        """The offset up to which the partition must be readable: after its last acknowledged record; 0 without one."""
        return self._ends.get(partition, 0)

    def followed(self, number: int) -> bool:
        """Notes that the reader that follows the topic during the run got the record. False if it got it before."""
        is_new = not self._followed[number]
        self._followed[number] = 1
        return is_new

    def followed_to_the_end(self) -> None:
        """Notes that this reader reached the end of all partitions: records that it did not get were skipped."""
        self._is_followed_to_the_end = True

    def begin_reading(self) -> None:
        """Starts a new complete reading of the topic, after the run. Results of earlier readings are discarded."""
        self._found = bytearray(self.count)
        self._latest: dict[int, int] = {}
        self._tally = FindingCounts()
        self._unread.clear()

    def found(self, number: int, partition: int, offset: int) -> None:
        """Notes that the reading found the record. Calls for a partition are in the order of offsets."""
        flags, where = self._found[number], f"{self._named(number)} at {partition}:{offset}"
        at_place = (self._partitions[number], self._offsets[number]) == (partition, offset)
        if flags & HERE:
            self._tally.add(VerifyFindingKind.DUPLICATE, f"{where}, again")
        elif self._fates[number] == RecordFate.ABORTED:
            self._tally.add(VerifyFindingKind.ABORTED, where)
        elif self._fates[number] == RecordFate.REFUSED:
            self._tally.add(VerifyFindingKind.REFUSED, where)
        if at_place or (self._offsets[number] == UNKNOWN and not flags):  # duplicates do not count for the order
            latest = self._latest.get(partition, UNKNOWN)
            if number < latest:
                self._tally.add(VerifyFindingKind.REORDERED, f"{where}, after record {latest}")
            self._latest[partition] = max(latest, number)
        self._found[number] = flags | HERE | (AT_PLACE if at_place else 0)

    def unread(self, partition: int, reason: str) -> None:
        """Notes that the reading did not reach the end of a partition. Its missing records are not reported as lost."""
        self._unread[partition] = reason

    @property
    def read(self) -> int:
        """The number of distinct records that the reading found."""
        return self.count - self._found.count(0)

    # The result

    def findings(self) -> list[VerifyFinding]:
        """The findings after the reading; empty if everything is right."""
        tally = FindingCounts()
        tally.counts.update(self._tally.counts)
        tally.examples.update({kind: [*examples] for kind, examples in self._tally.examples.items()})
        for number, fate in enumerate(self._fates):
            found = self._found[number]
            if found & HERE:
                self._judge_found(number, fate, found, tally)
            else:
                self._judge_missing(number, fate, tally)
        for first, end in self._in_doubt:
            self._judge_transaction(first, end, tally)
        for partition, reason in sorted(self._unread.items()):
            tally.add(VerifyFindingKind.UNREAD, f"partition {partition}: {reason}")
        if not self.of_fate(RecordFate.STORED):
            tally.counts[VerifyFindingKind.NOTHING] = 1
        return tally.findings()

    def _judge_found(self, number: int, fate: int, found: int, tally: FindingCounts) -> None:
        if fate != RecordFate.STORED:
            return
        if self._offsets[number] != UNKNOWN and not found & AT_PLACE:
            tally.add(VerifyFindingKind.MISPLACED, f"{self._named(number)}, acknowledged at {self._place(number)}")
        if self._is_followed_to_the_end and not self._followed[number]:
            tally.add(VerifyFindingKind.SKIPPED, f"{self._named(number)} at {self._place(number)}")

    def _judge_missing(self, number: int, fate: int, tally: FindingCounts) -> None:
        if not self._is_readable(number):
            return
        if fate == RecordFate.STORED:
            again = ", read before" if self._followed[number] else ""
            tally.add(VerifyFindingKind.LOST, f"{self._named(number)}, acknowledged at {self._place(number)}{again}")
        elif self._followed[number]:
            kind = {RecordFate.ABORTED: VerifyFindingKind.ABORTED, RecordFate.REFUSED: VerifyFindingKind.REFUSED}.get(
                RecordFate(fate), VerifyFindingKind.LOST
            )
            tally.add(kind, f"{self._named(number)}, read before")

    def _judge_transaction(self, first: int, end: int, tally: FindingCounts) -> None:
        known = [number for number in range(first, end) if self._partitions[number] != UNKNOWN]
        missing = [number for number in known if not self._found[number] and self._is_readable(number)]
        there = sum(1 for number in known if self._found[number])
        if there and missing:
            records = f"records {first} to {end - 1}"
            tally.add(VerifyFindingKind.TORN, f"{records}: {there} are there, {self._named(missing[0])} is not")

    def _is_readable(self, number: int) -> bool:
        """Whether the record's partition was read to its end; if its partition is unknown, whether all were."""
        partition = self._partitions[number]
        return partition not in self._unread if partition != UNKNOWN else not self._unread

    def _place(self, number: int) -> str:
        offset = self._offsets[number]
        return f"{self._partitions[number]}:{'?' if offset == UNKNOWN else offset}"

    def _named(self, number: int) -> str:
        return f"record {number} (key-{number % self._keys})"
