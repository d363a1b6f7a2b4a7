"""Transactions in a log against its transaction indexes.

Looks only at transactional and control batches. Source: Kafka's TransactionIndex, ProducerStateManager.completeTxn.
"""

import numpy

from ...protocol.errors import KafkaError
from ...protocol.records.batch import read_header
from ...storage.errors import CorruptIndexError
from ...storage.file_names import TRANSACTION_INDEX_SUFFIX, segment_path
from ...storage.transaction_index import TransactionIndex
from ...storage.transaction_markers import read_marker
from ..decode.batch_table import BatchTable, Flags
from ..log_directories import SegmentFile
from .tasks import PartitionReport


class TransactionChecks:
    """Follows one partition. `outcomes`: producer id -> (offset of a marker, whether it committed), in order."""

    def __init__(self, report: PartitionReport) -> None:
        self.outcomes: dict[int, list[tuple[int, bool]]] = {}
        self._report = report
        self._open: dict[int, int] = {}
        self._aborts: dict[int, tuple[int, bool]] = {}  # marker's offset -> (producer id, its data was seen)

    def open_count(self) -> int:
        """How many transactions have no marker yet."""
        return len(self._open)

    def read(self, segment: SegmentFile, chunk: BatchTable, matches: Flags) -> None:
        """Takes in a chunk's transactional batches and markers."""
        is_transactional = (chunk.column("attributes") & 0x10) != 0
        for index in numpy.flatnonzero((is_transactional | chunk.is_control) & matches).tolist():
            position = int(chunk.positions[index])
            header = read_header(chunk.view, position)
            if not header.is_control:
                self._open.setdefault(header.producer_id, header.base_offset)
                continue
            try:
                found = read_marker(chunk.view[position : position + header.size_in_bytes], header)
            except KafkaError as error:
                place = chunk.file_position + position
                self._report.add(
                    "records-malformed", segment.path, str(error), position=place, offset=header.base_offset
                )
                continue
            if found is not None:
                self._end(header.producer_id, header.base_offset, is_commit=found[0].is_commit)

    def _end(self, producer_id: int, offset: int, *, is_commit: bool) -> None:
        had_data = self._open.pop(producer_id, None) is not None
        self.outcomes.setdefault(producer_id, []).append((offset, is_commit))
        if not is_commit:
            self._aborts[offset] = (producer_id, had_data)

    def check_index(self, segment: SegmentFile, *, is_settled: bool) -> None:
        """The segment's index against the abort markers that it holds; called when its batches were read."""
        path = segment_path(segment.path.parent, segment.base_offset, TRANSACTION_INDEX_SUFFIX)
        aborts, self._aborts = self._aborts, {}
        indexed = {}
        if path.exists():
            try:
                entries = TransactionIndex(segment.base_offset, path.read_bytes()).entries
            except CorruptIndexError as error:
                self._report.add("transaction-index-invalid", path, str(error))
                return
            indexed = {entry.last_offset: entry.producer_id for entry in entries}
        if not is_settled:
            return
        for offset, producer_id in indexed.items():
            if aborts.get(offset, (None, False))[0] != producer_id:
                detail = f"no abort of producer {producer_id} at offset {offset}"
                self._report.add("transaction-index-invalid", path, detail, offset=offset)
        for offset, (producer_id, had_data) in aborts.items():
            if had_data and offset not in indexed:
                detail = f"the transaction of producer {producer_id} was aborted at offset {offset}"
                self._report.add("aborted-transaction-unindexed", path, detail, offset=offset)
