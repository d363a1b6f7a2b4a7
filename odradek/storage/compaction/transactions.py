"""The transactions in one pass over a log: which batches were aborted, which markers still have data.

A marker may be removed only after the data of its transaction: it is discardable if the pass has seen no data batch of
its transaction. Pure. Use one object for building the offset map and another for filtering. Source: Kafka's
CleanedTransactionMetadata; KIP-98, KIP-534.
"""

import heapq
from collections.abc import Iterable

from odradek.protocol.records.batch import BatchHeader
from odradek.protocol.records.control import ControlRecordType, control_record_type
from odradek.protocol.records.errors import InvalidRecordError

from ..segment.transaction_index import AbortedTransaction


class CleanedTransactions:
    """Follows batches in the order of their offsets. `kept_aborts` are those whose data was seen in this pass."""

    __slots__ = ("_aborted", "_committed", "_ongoing", "kept_aborts")

    def __init__(self) -> None:
        self._aborted: list[tuple[int, AbortedTransaction]] = []  # a heap by first offset
        self._ongoing: dict[int, tuple[AbortedTransaction, bool]] = {}  # producer id -> (entry, data was seen)
        self._committed: set[int] = set()
        self.kept_aborts: list[AbortedTransaction] = []

    def add_aborted(self, entries: Iterable[AbortedTransaction]) -> None:
        """Adds the entries of transaction indexes. Call it before their batches."""
        for entry in entries:
            heapq.heappush(self._aborted, (entry.first_offset, entry))

    def take_kept_aborts(self) -> list[AbortedTransaction]:
        """The entries for the transaction index of the segment written since the last call."""
        kept, self.kept_aborts = self.kept_aborts, []
        return kept

    def is_aborted(self, header: BatchHeader) -> bool:
        """Processes a data batch. Returns whether it belongs to an aborted transaction."""
        self._start_up_to(header.last_offset)
        if not header.is_transactional:
            return False
        found = self._ongoing.get(header.producer_id)
        if found is None:
            self._committed.add(header.producer_id)
            return False
        self._ongoing[header.producer_id] = (found[0], True)
        return True

    def is_discardable(self, header: BatchHeader, key: bytes | None) -> bool:
        """Processes a control batch by its record's key (None: it has no record). Returns whether its transaction is
        empty.

        Raises InvalidRecordError for a key that is not a control record's, and if the marker's aborted data was taken
        for committed because the transaction indexes lack it (Kafka would keep it as committed).
        """
        self._start_up_to(header.last_offset)
        if key is None:
            return True
        record_type = control_record_type(key)
        if record_type == ControlRecordType.ABORT:
            entry, was_seen = self._ongoing.pop(header.producer_id, (None, False))
            if entry is not None and was_seen:
                self.kept_aborts.append(entry)
                return False
            if entry is None and header.producer_id in self._committed:
                raise InvalidRecordError(
                    f"the transaction index lacks the transaction of producer {header.producer_id} that was aborted at "
                    f"offset {header.last_offset}: its data can't be distinguished from committed data"
                )
            return True
        if record_type == ControlRecordType.COMMIT:
            if header.producer_id in self._committed:
                self._committed.remove(header.producer_id)
                return False
            return True
        return False

    def _start_up_to(self, offset: int) -> None:
        """Starts the aborted transactions that begin at or before `offset`."""
        while self._aborted and self._aborted[0][0] <= offset:
            _, entry = heapq.heappop(self._aborted)
            self._ongoing.setdefault(entry.producer_id, (entry, False))
