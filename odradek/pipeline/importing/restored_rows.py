"""Fits the rows of an exported partition to its state: leaves out what no consumer of committed records got.

Pure, except that the table of uncommitted offsets is read. Owns: which rows are left out, and the leader epoch of each.
Rows below the log start are deleted. Rows of aborted transactions would be committed ones, because imported batches
have no producer. Those of open transactions, too; a broker would have aborted them (transaction.timeout.ms). Source:
KIP-98, KIP-101.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Any

import numpy
import pyarrow as pa

from .batches import FIRST_LEADER_EPOCH
from .partition_files import WrittenPartition
from .state import RestoredPartition, read_uncommitted

LeaderEpochs = Sequence[tuple[int, int]]
"""(leader epoch, its first offset), in order."""


def epochs_from(state: RestoredPartition) -> LeaderEpochs:
    """The leader epochs from the log start on. The first one begins there."""
    epochs = [entry for entry in state.leader_epochs if entry[1] <= state.log_end_offset]
    before = [entry for entry in epochs if entry[1] <= state.log_start_offset]
    first = before[-1][0] if before else epochs[0][0] if epochs else FIRST_LEADER_EPOCH
    later = [entry for entry in epochs if entry[1] > state.log_start_offset and entry[0] > first]
    return [(first, state.log_start_offset), *later]


def committed_rows(rows: Iterable[Any], state: RestoredPartition, facts: WrittenPartition) -> Iterator[Any]:
    """Yields the record batches without uncommitted and deleted rows, which it counts in `facts`. Raises OSError."""
    uncommitted = read_uncommitted(state.uncommitted_file, facts.topic, facts.partition)
    for batch in rows:
        offsets = batch.column("offset").to_numpy()
        is_kept = offsets >= state.log_start_offset
        facts.deleted += int(numpy.count_nonzero(~is_kept))
        if len(uncommitted.first_offsets):
            found = uncommitted.ranges_of(offsets)
            is_out = is_kept & (found >= 0)
            is_open = is_out & uncommitted.is_open[found]
            facts.undecided += int(numpy.count_nonzero(is_open))
            facts.aborted += int(numpy.count_nonzero(is_out & ~is_open))
            is_kept &= ~is_out
        kept = batch if is_kept.all() else batch.filter(pa.array(is_kept))
        if kept.num_rows:
            yield kept


def by_epoch(batch: Any, epochs: LeaderEpochs) -> Iterator[tuple[int, Any]]:
    """Yields (leader epoch, its rows) of a record batch with rising offsets."""
    starts = numpy.searchsorted(batch.column("offset").to_numpy(), [start for _, start in epochs])
    for (epoch, _), (first, behind) in zip(epochs, pairwise([*starts.tolist(), batch.num_rows]), strict=True):
        if first < behind:
            yield epoch, batch.slice(first, behind - first)
