"""The leader epochs of a partition, each with its start offset.

    leader-epoch-checkpoint    text lines: version (0), number of entries, then `<epoch> <start offset>` for each

Pure but for the given file layer. Owns: the entries and their file. The file is written before the recovery point
moves: recovery finds epochs that start after the recovery point again in the batches. Invariant: epochs and start
offsets rise together. Source: Kafka's LeaderEpochFileCache; KIP-101, KIP-279.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from pathlib import Path

from odradek.protocol.records.batch import read_header
from odradek.protocol.records.errors import CorruptRecordError, InvalidRecordError

from ..files.checkpoints import read_epoch_checkpoint, write_epoch_checkpoint
from ..files.file_names import LEADER_EPOCH_CHECKPOINT
from ..files.files import Files
from .log_segments import LogSegments

UNDEFINED_EPOCH = -1


class LeaderEpochs:
    """Epochs and their start offsets."""

    __slots__ = ("_epochs", "_files", "_path", "_starts", "is_saved", "latest")

    def __init__(self, directory: Path, files: Files) -> None:
        """Reads the checkpoint if there is one. Raises CorruptCheckpointError, OSError."""
        self._files = files
        self._path = directory / LEADER_EPOCH_CHECKPOINT
        self._epochs: list[int] = []
        self._starts: list[int] = []
        self.latest = UNDEFINED_EPOCH
        """The latest epoch; -1 without entries. An attribute, since each append reads it."""
        for epoch, start_offset in read_epoch_checkpoint(files, self._path):
            self.assign(epoch, start_offset)
        self.is_saved = True

    @property
    def entries(self) -> list[tuple[int, int]]:
        """(epoch, start offset) of each entry, rising."""
        return list(zip(self._epochs, self._starts, strict=True))

    @property
    def first_start_offset(self) -> int | None:
        """The start offset of the first known epoch; None without entries."""
        return self._starts[0] if self._starts else None

    @property
    def path(self) -> Path:
        """The checkpoint file."""
        return self._path

    def move_to(self, directory: Path) -> None:
        """Follows a rename of the partition's directory."""
        self._path = directory / LEADER_EPOCH_CHECKPOINT

    def assign(self, epoch: int, start_offset: int) -> None:
        """Adds an epoch that starts at `start_offset`, and removes the entries that contradict it."""
        assert epoch >= 0, f"epoch {epoch}"
        assert start_offset >= 0, f"start offset {start_offset}"
        if self._epochs and self._epochs[-1] == epoch and start_offset >= self._starts[-1]:
            return
        kept = min(bisect_left(self._epochs, epoch), bisect_left(self._starts, start_offset))
        self._epochs[kept:] = [epoch]
        self._starts[kept:] = [start_offset]
        self.latest = epoch
        self.is_saved = False

    def prepend(self, entries: Iterable[tuple[int, int]]) -> None:
        """Adds rising (epoch, start offset) entries of batches before the known ones. Later entries are ignored."""
        known = self.entries
        earlier = [entry for entry in entries if not known or (entry[0] <= known[0][0] and entry[1] < known[0][1])]
        if earlier:
            self._epochs, self._starts = [], []
            for epoch, start_offset in (*earlier, *known):
                self.assign(epoch, start_offset)

    def end_offset_for(self, epoch: int, log_end_offset: int) -> tuple[int, int] | None:
        """(epoch, end offset) of the greatest epoch up to `epoch`, as in the answer of OffsetForLeaderEpoch.

        The latest epoch ends at the log's end, an earlier one where the next begins. If `epoch` is below the first
        known one, the result is `epoch` and the start of the first known one. If it is above the latest, or -1, it is
        None.
        """
        if epoch == UNDEFINED_EPOCH or not self._epochs:
            return None
        if epoch == self._epochs[-1]:
            return epoch, log_end_offset
        following = bisect_right(self._epochs, epoch)
        if following == len(self._epochs):
            return None
        if following == 0:
            return epoch, self._starts[0]
        return self._epochs[following - 1], self._starts[following]

    def epoch_of(self, offset: int) -> int:
        """The epoch in which an offset was written; -1 below the first entry."""
        slot = bisect_right(self._starts, offset) - 1
        return self._epochs[slot] if slot >= 0 else UNDEFINED_EPOCH

    def truncate_from_end(self, end_offset: int) -> None:
        """Drops the epochs that begin at `end_offset` or later."""
        kept = bisect_left(self._starts, end_offset)
        if kept < len(self._starts):
            del self._epochs[kept:]
            del self._starts[kept:]
            self.latest = self._epochs[-1] if self._epochs else UNDEFINED_EPOCH
            self.is_saved = False

    def truncate_from_start(self, start_offset: int) -> None:
        """Drops the epochs that end before `start_offset`. The first one left then begins there."""
        slot = bisect_right(self._starts, start_offset) - 1
        if slot >= 0 and (slot > 0 or self._starts[0] != start_offset):
            del self._epochs[:slot]
            del self._starts[:slot]
            self._starts[0] = start_offset
            self.is_saved = False

    def clear(self) -> None:
        """Drops everything."""
        self.truncate_from_end(0)

    def save(self, *, sync: bool = True) -> None:
        """Writes the checkpoint if anything has changed. Raises OSError."""
        if not self.is_saved:
            write_epoch_checkpoint(self._files, self._path, self.entries, sync=sync)
            self.is_saved = True


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
