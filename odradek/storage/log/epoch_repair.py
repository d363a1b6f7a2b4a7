"""Compares the leader epochs of a checkpoint with those of the batches, and adds the ones that are missing.

Owns: nothing. Never does: recovery of batches. Source: Kafka's LeaderEpochFileCache.
"""

from odradek.protocol.records.batch import read_header
from odradek.protocol.records.errors import CorruptRecordError, InvalidRecordError

from .leader_epochs import UNDEFINED_EPOCH, LeaderEpochs
from .log_segments import LogSegments

DAMAGE = (CorruptRecordError, InvalidRecordError)
"""The errors of bytes in a log file that are not batches."""


def epochs_fit(epochs: LeaderEpochs, segments: LogSegments, start: int, log_end_offset: int) -> bool:
    """Whether the batches at and before the start of each epoch have the epochs of the checkpoint."""
    starts = [start_offset for _, start_offset in epochs.entries]
    offsets = {offset for at in starts for offset in (at - 1, at)} | {log_end_offset - 1}
    try:
        return all(_fits(epochs, segments, offset) for offset in sorted(offsets) if start <= offset < log_end_offset)
    except DAMAGE:
        return True  # the log is damaged there, not the checkpoint


def _fits(epochs: LeaderEpochs, segments: LogSegments, offset: int) -> bool:
    segment = segments.floor(offset)
    place = None if segment is None else segment.indexes.find(offset)
    if segment is None or place is None:
        return True
    header = read_header(segment.file.read_bytes(place.position, place.size))
    epoch = header.partition_leader_epoch
    return epoch < 0 or epochs.epoch_of(max(offset, header.base_offset)) == epoch


def complete_epochs(epochs: LeaderEpochs, segments: LogSegments, start: int) -> None:
    """Adds the epochs between the log's start and the first known one.

    After a crash the epoch checkpoint may be newer than the checkpoint of log start offsets. Then the log again has
    records that were deleted, and their epochs are missing.
    """
    known_from = epochs.first_start_offset
    found: list[tuple[int, int]] = []
    for segment in segments.reaching(start):
        if known_from is not None and segment.base_offset >= known_from:
            break
        for _, header in segment.file.headers():
            if known_from is not None and header.base_offset >= known_from:
                break
            epoch = header.partition_leader_epoch
            if header.next_offset > start and epoch > (found[-1][0] if found else UNDEFINED_EPOCH):
                found.append((epoch, max(header.base_offset, start)))
    epochs.prepend(found)
