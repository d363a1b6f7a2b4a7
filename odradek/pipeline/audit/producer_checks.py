"""Checks producers' sequences across batches and segments, and compares the producer snapshots with the log.

State: one entry for each of the latest MOST_PRODUCERS producers. Vectorised: no Python code for each batch. A group
coordinator numbers no batches: each commit of offsets in a transaction has sequence 0. In the offsets topic only epochs
are checked. Source: Kafka's ProducerStateManager, ProducerAppendInfo (AppendOrigin.COORDINATOR); KIP-98.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy

from odradek.protocol.names.topics import OFFSETS_TOPIC
from odradek.storage.errors import CorruptSnapshotError
from odradek.storage.files.file_names import SNAPSHOT_SUFFIX, segment_path
from odradek.storage.producers.producer_snapshots import decode_snapshot
from odradek.storage.producers.producer_state import ProducerEntry

from ..decode.spans import Int64s
from ..directories.file_access import is_gone, is_unreadable, list_directory, read_file
from .chunk_batches import ChunkBatches
from .sums import ProducerSpan
from .tasks import AuditTask, PartitionReport, read_whole
from .transaction_checks import TransactionChecks

MOST_PRODUCERS = 100_000
_SEQUENCES = 1 << 31


class _LastBatch(NamedTuple):
    """The last data batch of a producer. `gaps`: the number of offset gaps in the log before that batch."""

    epoch: int
    last_sequence: int
    last_offset: int
    gaps: int


class ProducerChecks:
    """The checks of one partition."""

    def __init__(self, task: AuditTask, report: PartitionReport, transactions: TransactionChecks) -> None:
        self._task = task
        self._report = report
        self._transactions = transactions
        self._producers: dict[int, _LastBatch] = {}
        self._has_sequences = task.replica.topic != OFFSETS_TOPIC
        self._spans: dict[int, ProducerSpan] | None = None

    def begin(self, spans: dict[int, ProducerSpan] | None) -> None:
        """Begins a segment, whose sums go into `spans`, by producer."""
        self._spans = spans

    def read(self, batches: ChunkBatches, gap_numbers: Int64s, gaps_before: int) -> None:
        """Checks the next batches. `gap_numbers`: the number of offset gaps in the log before each batch; `gaps_before`
        up to the first one of the segment."""
        sequences = batches.chunk.column("base_sequence")
        chosen = numpy.flatnonzero((batches.producers >= 0) & ~batches.is_control & (sequences >= 0) & batches.is_sound)
        if not len(chosen):
            return
        order = chosen[numpy.argsort(batches.producers[chosen], kind="stable")]
        ids, epochs = batches.producers[order], batches.chunk.column("producer_epoch")[order]
        first, last = sequences[order], (sequences[order] + batches.deltas[order]) % _SEQUENCES
        gaps = gap_numbers[order]
        heads = numpy.flatnonzero(numpy.concatenate([[True], ids[1:] != ids[:-1]]))
        known = [self._producers.get(producer_id) for producer_id in ids[heads].tolist()]
        before_epoch, before_last, before_gaps = (numpy.roll(column, 1) for column in (epochs, last, gaps))
        for slot, producer in zip(heads.tolist(), known, strict=True):
            before_epoch[slot] = -1 if producer is None else producer.epoch
            before_last[slot] = -1 if producer is None else producer.last_sequence
            before_gaps[slot] = -1 if producer is None else producer.gaps
        jump = (first - before_last - 1) % _SEQUENCES
        is_comparable = (before_epoch == epochs) & (before_last >= 0) & self._has_sequences
        if self._task.policy.is_compacted is not False:
            is_comparable &= before_gaps == gaps  # compaction removes batches
        for slot in numpy.flatnonzero(is_comparable & (jump != 0)).tolist():
            is_back = jump[slot] >= _SEQUENCES // 2
            detail = f"producer {ids[slot]} goes from sequence {before_last[slot]} to {first[slot]}"
            batches.found(f"producer-sequence-{'duplicate' if is_back else 'gap'}", int(order[slot]), detail)
        for slot in numpy.flatnonzero(epochs < before_epoch).tolist():
            detail = f"producer {ids[slot]} has epoch {epochs[slot]} after epoch {before_epoch[slot]}"
            batches.found("producer-epoch-decreasing", int(order[slot]), detail)
        if self._spans is not None:
            _add_spans(self._spans, heads, (ids, epochs, first, last, batches.lasts[order], gaps - gaps_before))
        self._keep(order, batches, ids, epochs, last, gaps, heads)

    def _keep(
        self,
        order: Int64s,
        batches: ChunkBatches,
        ids: Int64s,
        epochs: Int64s,
        last: Int64s,
        gaps: Int64s,
        heads: Int64s,
    ) -> None:
        for slot in [*(heads[1:] - 1).tolist(), len(ids) - 1]:
            producer_id = int(ids[slot])
            self._producers.pop(producer_id, None)  # keeps the oldest entries first
            self._producers[producer_id] = _LastBatch(
                int(epochs[slot]), int(last[slot]), int(batches.lasts[order[slot]]), int(gaps[slot])
            )
        while len(self._producers) > MOST_PRODUCERS:
            del self._producers[next(iter(self._producers))]

    # Sums of segments whose bytes are known ------------------------------------

    def accepts(self, spans: Sequence[ProducerSpan], gaps_before: int) -> bool:
        """Whether reading the segment would find no more than what its sums have, and `take` has the same effect.

        `gaps_before`: the number of gaps in the log up to its first batch.
        """
        if len(self._producers) + len(spans) > MOST_PRODUCERS:
            return False  # the oldest entries are dropped
        return all(self._follows(span, gaps_before) for span in spans)

    def _follows(self, span: ProducerSpan, gaps_before: int) -> bool:
        known = self._producers.get(span.producer_id)
        if known is None:
            return True
        if span.first_epoch < known.epoch:
            return False
        is_comparable = known.epoch == span.first_epoch and known.last_sequence >= 0 and self._has_sequences
        if self._task.policy.is_compacted is not False:
            is_comparable = is_comparable and known.gaps == span.first_gaps + gaps_before
        return not is_comparable or (span.first_sequence - known.last_sequence - 1) % _SEQUENCES == 0

    def take(self, spans: Sequence[ProducerSpan], gaps_before: int) -> None:
        """Adds the sums of the log's next segment, which was accepted, instead of reading it."""
        for span in spans:
            self._producers.pop(span.producer_id, None)
            self._producers[span.producer_id] = _LastBatch(
                span.last_epoch, span.last_sequence, span.last_offset, span.last_gaps + gaps_before
            )

    # Snapshots ---------------------------------------------------------------

    def check_snapshots(self) -> None:
        """Adds a finding for each snapshot that can't be read or is a link, a FIFO or a device. Raises OSError."""
        directory = self._task.replica.path
        names = sorted(entry.name for entry in list_directory(directory) if entry.name.endswith(SNAPSHOT_SUFFIX))
        for path in (directory / name for name in names):
            try:
                data = read_whole(self._report, path)
                if data is not None:
                    decode_snapshot(data)
            except FileNotFoundError:
                continue  # a broker deletes old snapshots at any time
            except CorruptSnapshotError as error:
                self._report.add("producer-snapshot-corrupt", path, str(error))

    def check_snapshot_at(self, offset: int, log_start_offset: int) -> None:
        """Compares the snapshot of an offset, if it exists, with the producers in the log before that offset."""
        path = segment_path(self._task.replica.path, offset, SNAPSHOT_SUFFIX)
        try:
            entries = decode_snapshot(read_file(path))
        except CorruptSnapshotError:
            return
        except OSError as error:
            if is_gone(error) or is_unreadable(error, path):
                return  # check_snapshots reports it
            raise
        for entry in entries:
            wrong = self._contradiction(entry, offset, log_start_offset)
            if wrong is not None:
                detail = f"producer {entry.producer_id}: {wrong}"
                self._report.add("producer-snapshot-mismatch", path, detail, offset=offset)
        named = {entry.producer_id for entry in entries}
        for producer_id, first_offset in self._transactions.open_offsets():
            if producer_id not in named:
                detail = f"producer {producer_id} is missing, but its transaction from offset {first_offset} is open"
                self._report.add("producer-snapshot-mismatch", path, detail, offset=offset)

    def _contradiction(self, entry: ProducerEntry, offset: int, log_start_offset: int) -> str | None:
        """The contradiction between the log and an entry of the snapshot at `offset`; None if there is none."""
        if entry.last_offset >= offset:
            return f"its last offset {entry.last_offset} is not before the snapshot's offset {offset}"
        known = self._producers.get(entry.producer_id)
        if known is None:
            return None
        if entry.producer_epoch < known.epoch:
            return f"its epoch is {entry.producer_epoch}, the log has {known.epoch}"
        if entry.producer_epoch > known.epoch or not entry.batches:
            return None  # a marker has raised the epoch
        is_behind = entry.last_offset < known.last_offset
        is_ahead = entry.last_offset > known.last_offset and self._task.policy.is_compacted is False
        if is_behind or (is_ahead and entry.last_offset >= log_start_offset):
            return f"its last batch ends at offset {entry.last_offset}, but in the log at {known.last_offset}"
        if entry.last_offset == known.last_offset and entry.last_sequence != known.last_sequence:
            return f"its last sequence is {entry.last_sequence}, but in the log {known.last_sequence}"
        opened = self._transactions.open_offset(entry.producer_id)
        if opened is not None and entry.transaction_first_offset is None:
            return f"it has no open transaction, but the log has one from offset {opened}"
        is_lost = opened is None and self._task.policy.is_compacted is False  # compaction removes batches
        if is_lost and (entry.transaction_first_offset or -1) >= log_start_offset:
            return f"it has an open transaction from offset {entry.transaction_first_offset}, but the log has none"
        return None


def _add_spans(spans: dict[int, ProducerSpan], heads: Int64s, columns: tuple[Int64s, ...]) -> None:
    """Adds a chunk's batches, sorted by producer. `heads`: the first row of each producer. `columns`: producer id,
    epoch, first and last sequence, last offset, and the number of gaps before the batch.
    """
    ids, epochs, first, last, offsets, gaps = columns
    ends = [*(heads[1:] - 1).tolist(), len(ids) - 1]
    for head, end in zip(heads.tolist(), ends, strict=True):
        producer_id = int(ids[head])
        known = spans.pop(producer_id, None)
        begin = (int(epochs[head]), int(first[head]), int(gaps[head])) if known is None else known[1:4]
        spans[producer_id] = ProducerSpan(
            producer_id, *begin, int(epochs[end]), int(last[end]), int(offsets[end]), int(gaps[end])
        )
