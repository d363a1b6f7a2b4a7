"""Counts the offsets of a share partition by their delivery state.

Pure. Source: Kafka's RecordState, SharePartition.
"""

from collections.abc import Iterable

from odradek.protocol.internal_records.share_batches import StateBatch

from .share_facts import ShareStateFacts

AVAILABLE, ACKNOWLEDGED, ARCHIVING, ARCHIVED = 0, 2, 3, 4
"""Stored delivery states. A record that a member holds is stored as it was before."""
DONE = (ACKNOWLEDGED, ARCHIVED)


def first_left(state: ShareStateFacts, log_start_offset: int) -> int:
    """The first offset from the log start on that is neither acknowledged nor archived."""
    offset = max(state.start_offset, log_start_offset)
    for batch in state.batches:
        if batch.first_offset > offset:
            break
        if batch.delivery_state in DONE:
            offset = max(offset, batch.last_offset + 1)
        elif batch.last_offset >= offset:
            break
    return offset


def count_in(batches: Iterable[StateBatch], states: tuple[int, ...], first: int = 0, end: int = 1 << 63) -> int:
    """The number of offsets from `first` on, before `end`, in one of the delivery states."""
    return sum(
        max(min(batch.last_offset + 1, end) - max(batch.first_offset, first), 0)
        for batch in batches
        if batch.delivery_state in states
    )
