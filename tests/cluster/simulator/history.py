"""The history of what clients of a simulated cluster sent, got acknowledged and read, and its invariants.

Owns: the history of a life. The invariants: (1) records that were acknowledged with acks=all stay, (4) a record that a
consumer read does not change, (7) readers of committed records get no aborted or partial transaction, and no record of
an idempotent producer is stored twice, (8) committed offsets never decrease.
"""

from dataclasses import dataclass, field
from typing import NamedTuple

Place = tuple[str, int, int]
"""Topic, partition, offset."""


class ViolationError(AssertionError):
    """An invariant does not hold."""


@dataclass
class Transaction:
    """A transaction as its producer knows it."""

    values: list[bytes] = field(default_factory=list)
    was_commit_asked: bool = False
    outcome: str = ""
    """``committed``, ``aborted``, or empty."""


class Record(NamedTuple):
    """A data record of a log, as for a reader with read_uncommitted."""

    value: bytes
    is_committed: bool


class History:
    """One life, as known by all clients together."""

    def __init__(self) -> None:
        self.acknowledged: dict[bytes, Place] = {}
        self.unchecked: list[Place] = []
        """Records that were acknowledged since the last check of the brokers."""
        self.transactions: dict[str, Transaction] = {}
        self.transaction_of: dict[bytes, str] = {}
        self.seen: dict[Place, bytes] = {}
        """The records that any consumer has read."""
        self.seen_committed: dict[str, list[Place]] = {}
        """Reader of committed records -> the places of its records, in order."""
        self.committed_offsets: dict[tuple[str, int], int] = {}
        """The highest offset of the group that was acknowledged or read, for each partition."""
        self.commits = 0
        self.errors: dict[str, int] = {}

    def failed(self, what: str, error: BaseException) -> None:
        """A client gave up an attempt."""
        key = f"{what}: {type(error).__name__} {getattr(error, 'error_code', '')!s}"
        self.errors[key] = self.errors.get(key, 0) + 1

    def was_acknowledged(self, value: bytes, place: Place) -> None:
        """A producer got the acknowledgement that all in-sync replicas have a record."""
        self.acknowledged[value] = place
        self.unchecked.append(place)

    def saw(self, reader: str, place: Place, value: bytes, *, committed_only: bool) -> None:
        """A consumer read a record."""
        before = self.seen.setdefault(place, value)
        if before != value:
            raise ViolationError(f"(4) {place} was {before!r}, and {reader} reads {value!r}")
        if not committed_only:
            return
        transaction = self.transactions.get(self.transaction_of.get(value, ""))
        if transaction is not None and (transaction.outcome == "aborted" or not transaction.was_commit_asked):
            raise ViolationError(f"(7) {reader} reads {value!r} at {place}, of a transaction that was not committed")
        places = self.seen_committed.setdefault(reader, [])
        places.append(place)

    def offset_is_committed(self, partition: tuple[str, int], offset: int) -> None:
        """A commit was acknowledged."""
        self.commits += 1
        self.committed_offsets[partition] = max(offset, self.committed_offsets.get(partition, 0))

    def offset_was_read(self, partition: tuple[str, int], offset: int, at_least: int) -> None:
        """The group's offset was read. ``at_least``: the offset that was acknowledged or read before the request was
        sent.
        """
        if offset < at_least:
            raise ViolationError(f"(8) the committed offset of {partition} is {offset} after {at_least}")
        self.committed_offsets[partition] = max(offset, self.committed_offsets.get(partition, 0))

    def check_logs(self, logs: dict[tuple[str, int], dict[int, Record]]) -> None:
        """Checks the guarantees at the end, with the logs of the leaders: partition -> offset -> record."""
        found: dict[bytes, list[Place]] = {}
        committed: set[bytes] = set()
        for (topic, partition), records in logs.items():
            for offset, record in records.items():
                found.setdefault(record.value, []).append((topic, partition, offset))
                if record.is_committed:
                    committed.add(record.value)
        for value, places in found.items():
            if len(places) > 1:
                raise ViolationError(f"(7) {value!r} is there more than once: {places}")
        for value, place in self.acknowledged.items():
            if place not in found.get(value, ()):
                raise ViolationError(f"(1) {value!r} was acknowledged at {place}; it is at {found.get(value)}")
        for place, value in self.seen.items():
            if place not in found.get(value, ()):
                raise ViolationError(f"(4) {value!r} was read at {place}; it is at {found.get(value)}")
        self._check_transactions(committed)
        self._check_readers(logs)

    def _check_transactions(self, committed: set[bytes]) -> None:
        for name, transaction in self.transactions.items():
            there = committed.intersection(transaction.values)
            acknowledged = {value for value in transaction.values if value in self.acknowledged}
            if transaction.outcome == "committed" and len(there) < len(transaction.values):
                raise ViolationError(
                    f"(7) {name} was committed; only {sorted(there)} of {transaction.values} are there"
                )
            if there and (transaction.outcome == "aborted" or not transaction.was_commit_asked):
                raise ViolationError(f"(7) {name} was not committed; {sorted(there)} are")
            if there and not acknowledged <= there:
                raise ViolationError(f"(7) half of {name} is there: {sorted(there)} of {transaction.values}")

    def _check_readers(self, logs: dict[tuple[str, int], dict[int, Record]]) -> None:
        """Checks that readers of committed records skipped no record."""
        for reader, places in self.seen_committed.items():
            last: dict[tuple[str, int], int] = {}
            for topic, partition, offset in places:
                key = topic, partition
                if key in last:
                    if offset <= last[key]:
                        raise ViolationError(f"(4) {reader} went back in {key}: {last[key]} then {offset}")
                    left = [at for at in range(last[key] + 1, offset) if at in logs[key] and logs[key][at].is_committed]
                    if left:
                        raise ViolationError(f"(7) {reader} passed over the committed {left} of {key}")
                last[key] = offset
