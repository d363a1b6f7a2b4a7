"""Applies batches to the producer state of a log: one at a time after appends, or all after a snapshot.

Never does: deciding when (the loader and the log do). Source: Kafka's UnifiedLog.rebuildProducerState,
LogSegment.updateProducerState.
"""

import logging
from collections.abc import Iterator

from odradek.protocol.common.steps import Steps
from odradek.protocol.records.batch import BatchHeader, Buffer

from ..errors import CorruptSnapshotError
from ..producers.producer_snapshots import ProducerSnapshots
from ..producers.producer_state import ProducerStateManager, is_expired, read_marker
from ..segment.segment import Segment
from ..segment.transaction_index import AbortedTransaction
from .log_segments import LogSegments

logger = logging.getLogger(__name__)

HEADERS_A_STEP = 64
"""The number of batches replayed in one step: some 5 us each."""


def apply_to_producers(
    state: ProducerStateManager, segment: Segment, header: BatchHeader, batch: Buffer, *, index: bool = True
) -> None:
    """Applies a batch of the log to the producer state. With `index`, adds an aborted transaction to its index."""
    if header.has_producer_id:
        if not header.is_control:
            state.apply(header, header.base_offset)
        elif (found := read_marker(batch, header)) is not None:
            marker, timestamp = found
            completed = state.apply_marker(header, marker, header.base_offset, timestamp)
            if completed is not None and completed.is_aborted and index:
                stable = state.last_stable_offset_after(completed)
                segment.indexes.transaction.append(
                    AbortedTransaction(completed.producer_id, completed.first_offset, completed.last_offset, stable)
                )
    state.map_end_offset = header.next_offset


def rebuild_producers(
    state: ProducerStateManager,
    snapshots: ProducerSnapshots,
    segments: LogSegments,
    log_start_offset: int,
    log_end_offset: int,
    now_ms: int,
    expiration_ms: int,
    *,
    clean_shutdown: bool,
) -> Steps[None]:
    """Steps that rebuild `state` as of `log_end_offset` from the newest usable snapshot and the log after it.

    Removes snapshots out of range. A log that was closed cleanly without a snapshot had no producers and is not read.
    """
    if clean_shutdown and snapshots.latest_offset is None:
        state.reset(log_end_offset)
        return
    for offset in snapshots.offsets:
        if offset > log_end_offset or offset <= log_start_offset:
            snapshots.remove(offset)
    start = log_start_offset
    state.reset(start)
    while (latest := snapshots.latest_offset) is not None:
        try:
            entries = snapshots.read(latest)
        except CorruptSnapshotError as damage:
            logger.warning("%s: %s; using an older snapshot", snapshots.path(latest), damage)
            snapshots.remove(latest)
            continue
        state.reset(latest, (entry for entry in entries if not is_expired(entry, now_ms, expiration_ms)))
        start = latest
        break
    if start < log_end_offset:
        for segment in segments.reaching(start):
            if segment.base_offset >= log_end_offset:
                break
            yield from _replay_segment(state, segment, start, log_end_offset)
    state.map_end_offset = log_end_offset
    state.forget_unreplicated(log_end_offset)


def _replay_segment(state: ProducerStateManager, segment: Segment, start: int, end: int) -> Iterator[None]:
    """Applies the batches of one segment from `start` to `end`. Reads whole markers, but only the headers of data
    batches.
    """
    place = segment.indexes.find(start)
    if place is None:
        return
    for count, (position, header) in enumerate(segment.file.headers(place.position), 1):
        if header.base_offset >= end:
            return
        batch = segment.file.read_bytes(position, header.size_in_bytes) if header.is_control else b""
        apply_to_producers(state, segment, header, batch, index=False)
        if not count % HEADERS_A_STEP:
            yield
        if header.next_offset >= end:
            return  # later batches may be torn
