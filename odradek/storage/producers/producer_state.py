"""A partition's idempotent and transactional producers: their sequences, epochs and open transactions.

Pure. Owns: the last five batches of each producer; the transactions that are undecided or whose marker is above the
high watermark. Never does: I/O (`producer_snapshots` has the files). `check` changes nothing; `apply` updates the state
after the append. Invariant: `apply` over all batches of a log, from any snapshot on, gives the same state. Source:
Kafka's ProducerStateManager, ProducerAppendInfo, ProducerStateEntry; KIP-98.
"""

import itertools
from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

from odradek.protocol.common.steps import Steps
from odradek.protocol.errors import ErrorCode, KafkaError
from odradek.protocol.records.batch import (
    MAX_SEQUENCE,
    NO_PRODUCER_EPOCH,
    NO_SEQUENCE,
    NO_TIMESTAMP,
    BatchHeader,
    Buffer,
    decrement_sequence,
)
from odradek.protocol.records.control import (
    ControlRecordType,
    EndTransactionMarker,
    control_record_type,
    end_transaction_marker,
)
from odradek.protocol.records.record import iterate_records

if TYPE_CHECKING:
    from odradek.protocol.records.control import EndTransactionMarker

BATCHES_RETAINED = 5
PRODUCERS_A_STEP = 1_000
"""Producers that one step of an expiry looks at: 0.2 ms."""
NO_COORDINATOR_EPOCH = -1
STRICT_MARKERS_SINCE = 2
"""The transaction version from which on a transaction's marker has a higher epoch than its records (KIP-890)."""
MAX_PRODUCER_EPOCH = 0x7FFF
"""The highest epoch. A transaction of this epoch has a marker of the same epoch, not of a higher one."""


class BatchMetadata(NamedTuple):
    """A batch that a producer may send again. `offset_delta`: its last offset minus its first; `timestamp` is in ms."""

    last_sequence: int
    last_offset: int
    offset_delta: int
    timestamp: int

    @property
    def first_sequence(self) -> int:
        """The sequence of the first record."""
        return decrement_sequence(self.last_sequence, self.offset_delta)

    @property
    def first_offset(self) -> int:
        """The offset of the first record."""
        return self.last_offset - self.offset_delta


class CompletedTransaction(NamedTuple):
    """A transaction that a marker has just ended; `last_offset` is the marker's."""

    producer_id: int
    first_offset: int
    last_offset: int
    is_aborted: bool


class ProducerEntry:
    """One producer's state. `transaction_first_offset` is None outside of a transaction; times are ms."""

    __slots__ = (
        "batches",
        "coordinator_epoch",
        "last_timestamp",
        "producer_epoch",
        "producer_id",
        "transaction_first_offset",
    )

    def __init__(
        self,
        producer_id: int,
        producer_epoch: int = NO_PRODUCER_EPOCH,
        coordinator_epoch: int = NO_COORDINATOR_EPOCH,
        last_timestamp: int = NO_TIMESTAMP,
        transaction_first_offset: int | None = None,
        batches: Iterable[BatchMetadata] = (),
    ) -> None:
        self.producer_id = producer_id
        self.producer_epoch = producer_epoch
        self.coordinator_epoch = coordinator_epoch
        self.last_timestamp = last_timestamp
        self.transaction_first_offset = transaction_first_offset
        self.batches = list(batches)

    def __repr__(self) -> str:
        fields = ", ".join(f"{name}={getattr(self, name)!r}" for name in sorted(self.__slots__))
        return f"ProducerEntry({fields})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ProducerEntry) and repr(self) == repr(other)

    __hash__ = None  # type: ignore[assignment]

    @property
    def last_sequence(self) -> int:
        """The sequence of the last record; -1 if no batch is known."""
        return self.batches[-1].last_sequence if self.batches else NO_SEQUENCE

    @property
    def last_offset(self) -> int:
        """The offset of the last record; -1 if no batch is known."""
        return self.batches[-1].last_offset if self.batches else -1

    def find_duplicate(self, header: BatchHeader) -> BatchMetadata | None:
        """The retained batch with exactly these sequences and this epoch."""
        if header.producer_epoch != self.producer_epoch:
            return None
        last_sequence = header.last_sequence
        for batch in self.batches:
            if batch.last_sequence == last_sequence and batch.first_sequence == header.base_sequence:
                return batch
        return None

    def set_epoch(self, producer_epoch: int) -> None:
        """Starts a new epoch, without batches."""
        if producer_epoch != self.producer_epoch:
            self.producer_epoch = producer_epoch
            self.batches = []


class ProducerStateManager:
    """The producers of one partition."""

    __slots__ = ("_ongoing", "_unreplicated", "map_end_offset", "producers")

    def __init__(self, map_end_offset: int = 0) -> None:
        self.producers: dict[int, ProducerEntry] = {}
        self.map_end_offset = map_end_offset
        """All batches below this offset are in the state."""
        self._ongoing: dict[int, int] = {}  # first offset -> producer id, in the order of the offsets
        self._unreplicated: dict[int, int] = {}  # first offset -> offset of the marker

    def take_over(self, other: "ProducerStateManager") -> None:
        """Takes the whole state of `other`, which must not be used any more."""
        self.producers = other.producers
        self.map_end_offset = other.map_end_offset
        self._ongoing = other._ongoing
        self._unreplicated = other._unreplicated

    @property
    def first_unstable_offset(self) -> int | None:
        """The first offset whose transaction is undecided or has its marker above the high watermark."""
        if not self._ongoing and not self._unreplicated:
            return None
        return min(itertools.chain(self._ongoing, self._unreplicated))

    def has_open_transaction(self, producer_id: int, producer_epoch: int) -> bool:
        """Whether a producer has an open transaction with records in this epoch."""
        entry = self.producers.get(producer_id)
        return (
            entry is not None and entry.transaction_first_offset is not None and entry.producer_epoch == producer_epoch
        )

    def has_newer_epoch(self, producer_id: int, producer_epoch: int) -> bool:
        """Whether the producer has a later epoch than this one, so that its batches of this epoch are refused."""
        entry = self.producers.get(producer_id)
        return entry is not None and producer_epoch < entry.producer_epoch

    @property
    def first_undecided_offset(self) -> int | None:
        """The first offset of the oldest transaction without a marker."""
        return min(self._ongoing, default=None)

    def check(self, header: BatchHeader, offset: int, *, from_client: bool) -> BatchMetadata | None:
        """Checks a data batch that will get `offset`. Returns the earlier batch if it is a client's duplicate.

        Raises KafkaError with INVALID_PRODUCER_EPOCH, OUT_OF_ORDER_SEQUENCE_NUMBER or INVALID_TXN_STATE.
        """
        entry = self.producers.get(header.producer_id)
        if entry is None:
            return None  # unknown, perhaps deleted by retention: any sequence is valid
        if from_client:
            duplicate = entry.find_duplicate(header)
            if duplicate is not None:
                return duplicate
        _check_epoch(entry, header, offset)
        if from_client:
            _check_sequence(entry, header, offset)
        if entry.transaction_first_offset is not None and not header.is_transactional:
            raise KafkaError(
                ErrorCode.INVALID_TXN_STATE,
                f"Expected transactional write from producer {header.producer_id} at offset {offset}",
            )
        return None

    def check_marker(
        self, header: BatchHeader, marker: "EndTransactionMarker", offset: int, transaction_version: int = 0
    ) -> None:
        """Raises KafkaError INVALID_PRODUCER_EPOCH, or TRANSACTION_COORDINATOR_FENCED for an old coordinator.

        ``transaction_version``: that of the client that ended the transaction. From 2 on the epoch of a marker is
        higher than that of the records (KIP-890). A marker with an equal epoch is then a late one, which could end the
        producer's next transaction (KIP-1228), so it is refused. If no transaction is open, it is accepted: the
        coordinator repeats a marker whose answer was lost. Source: ``ProducerAppendInfo.checkProducerEpoch``.
        """
        entry = self.producers.get(header.producer_id)
        if entry is None:
            return
        _check_epoch(entry, header, offset)
        if (
            transaction_version >= STRICT_MARKERS_SINCE
            and header.producer_epoch == entry.producer_epoch != MAX_PRODUCER_EPOCH
            and entry.transaction_first_offset is not None
        ):
            raise KafkaError(
                ErrorCode.INVALID_PRODUCER_EPOCH,
                f"Epoch of producer {header.producer_id} at offset {offset} is {header.producer_epoch}, which is <= the"
                f" last seen epoch {entry.producer_epoch} (TV{transaction_version})",
            )
        if entry.coordinator_epoch > marker.coordinator_epoch:
            raise KafkaError(
                ErrorCode.TRANSACTION_COORDINATOR_FENCED,
                f"Invalid coordinator epoch for producerId {header.producer_id} at offset {offset}: "
                f"{marker.coordinator_epoch} (zombie), {entry.coordinator_epoch} (current)",
            )

    def apply(self, header: BatchHeader, first_offset: int) -> None:
        """Applies a data batch that the log holds at `first_offset`."""
        producer_id = header.producer_id
        entry = self.producers.get(producer_id)
        if entry is None:
            entry = self.producers[producer_id] = ProducerEntry(producer_id)
        entry.set_epoch(header.producer_epoch)
        delta = header.last_offset_delta
        batches = entry.batches
        batches.append(BatchMetadata(header.last_sequence, first_offset + delta, delta, header.max_timestamp))
        if len(batches) > BATCHES_RETAINED:
            del batches[0]
        entry.last_timestamp = header.max_timestamp
        if entry.transaction_first_offset is None and header.is_transactional:
            entry.transaction_first_offset = first_offset
            self._ongoing[first_offset] = producer_id

    def apply_marker(
        self, header: BatchHeader, marker: "EndTransactionMarker", offset: int, timestamp: int
    ) -> CompletedTransaction | None:
        """Applies a marker. Returns the transaction that it ends; None if the producer had no open one."""
        producer_id = header.producer_id
        entry = self.producers.get(producer_id)
        if entry is None:
            entry = self.producers[producer_id] = ProducerEntry(producer_id)
        first_offset = entry.transaction_first_offset
        entry.set_epoch(header.producer_epoch)
        entry.coordinator_epoch = marker.coordinator_epoch
        entry.last_timestamp = timestamp
        entry.transaction_first_offset = None
        if first_offset is None:
            return None
        del self._ongoing[first_offset]
        self._unreplicated[first_offset] = offset
        return CompletedTransaction(producer_id, first_offset, offset, not marker.is_commit)

    def last_stable_offset_after(self, completed: CompletedTransaction) -> int:
        """The last stable offset after the end of this transaction, for the transaction index."""
        return min(self._ongoing, default=completed.last_offset + 1)

    def forget_unreplicated(self, offset: int) -> None:
        """Forgets completed transactions whose markers are below `offset`, the new high watermark or log start."""
        if self._unreplicated:
            self._unreplicated = {first: last for first, last in self._unreplicated.items() if last >= offset}

    def remove_expired(self, now_ms: int, expiration_ms: int) -> Steps[None]:
        """Forgets producers idle for `expiration_ms` and without an open transaction, PRODUCERS_A_STEP in each step."""
        for count, producer_id in enumerate(list(self.producers), 1):
            entry = self.producers.get(producer_id)  # it may have gone, or written again, since the last step
            if entry is not None and is_expired(entry, now_ms, expiration_ms):
                del self.producers[producer_id]
            if not count % PRODUCERS_A_STEP:
                yield

    def reset(self, map_end_offset: int, entries: Iterable[ProducerEntry] = ()) -> None:
        """Replaces the state by the producers of a snapshot at `map_end_offset`."""
        self.producers = {entry.producer_id: entry for entry in entries}
        self._unreplicated = {}
        self._ongoing = {
            entry.transaction_first_offset: entry.producer_id
            for entry in self.producers.values()
            if entry.transaction_first_offset is not None
        }
        self.map_end_offset = map_end_offset


def is_expired(entry: ProducerEntry, now_ms: int, expiration_ms: int) -> bool:
    """Whether a producer has been idle for `expiration_ms`; one with an open transaction never is."""
    return entry.transaction_first_offset is None and now_ms - entry.last_timestamp >= expiration_ms


def _check_epoch(entry: ProducerEntry, header: BatchHeader, offset: int) -> None:
    if header.producer_epoch < entry.producer_epoch:
        raise KafkaError(
            ErrorCode.INVALID_PRODUCER_EPOCH,
            f"Epoch of producer {header.producer_id} at offset {offset} is {header.producer_epoch}, which is smaller "
            f"than the last seen epoch {entry.producer_epoch}",
        )


def _check_sequence(entry: ProducerEntry, header: BatchHeader, offset: int) -> None:
    sequence = header.base_sequence
    if header.producer_epoch != entry.producer_epoch:
        if sequence != 0 and entry.producer_epoch != NO_PRODUCER_EPOCH:
            raise KafkaError(
                ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER,
                f"Invalid sequence number for new epoch of producer {header.producer_id} at offset {offset}: "
                f"{header.producer_epoch} (request epoch), {sequence} (seq. number), {entry.producer_epoch} "
                "(current producer epoch)",
            )
        return
    last = entry.last_sequence
    in_sequence = sequence == last + 1 or (sequence == 0 and last == MAX_SEQUENCE)
    if entry.producer_epoch != NO_PRODUCER_EPOCH and not in_sequence:
        raise KafkaError(
            ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER,
            f"Out of order sequence number for producer {header.producer_id} at offset {offset}: {sequence} (incoming "
            f"seq. number), {last} (current end sequence number)",
        )


def read_marker(batch: Buffer, header: BatchHeader) -> tuple[EndTransactionMarker, int] | None:
    """(marker, its timestamp) of a control batch; None for a batch without records or of another control type.

    Raises InvalidRecordError for malformed bytes.
    """
    for record in iterate_records(batch, header):
        if control_record_type(record.key) in (ControlRecordType.ABORT, ControlRecordType.COMMIT):
            return end_transaction_marker(record.key, record.value), record.timestamp
        return None
    return None
