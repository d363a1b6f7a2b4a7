"""Compacts one partition's directory: completes an interrupted segment swap, then cleans until nothing changes.

Every round is atomic and depends only on the files and `now_ms`. A run that is killed and started again therefore ends
with the same bytes. A dry run writes to an overlay of the files. The caller holds the directory's lock. The active
segment, the leader epochs and the producer snapshots of segments that stay are not changed. Source:
storage/compaction/.
"""

import time
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from pathlib import Path

from odradek.protocol.common.lazy_imports import lazy_imports
from odradek.protocol.errors import KafkaError
from odradek.storage.compaction.cleaned_indexes import SegmentOffsetOverflowError
from odradek.storage.compaction.cleaning import WRITE_CHUNK, PartitionCleaner, RoundResult
from odradek.storage.compaction.grouping import CleanableRange, cleanable_range
from odradek.storage.compaction.pace import Pace
from odradek.storage.compaction.partition_facts import PartitionFacts, read_partition
from odradek.storage.compaction.plain_steps import PlainSteps
from odradek.storage.compaction.record_steps import RecordSteps
from odradek.storage.compaction.splitting import split_overflowed_segment
from odradek.storage.errors import CorruptIndexError
from odradek.storage.files.files import Files
from odradek.storage.files.overlay_files import OverlayFiles
from odradek.storage.log.log_config import LogConfig
from odradek.storage.log.swap_files import recover_swap_files
from odradek.storage.segment.offset_index import MAX_RELATIVE_OFFSET

from ..engine.compiled import IS_COMPILED

with lazy_imports:
    from . import compiled_steps

MAX_ROUNDS = 1000
DEFAULT_MAP_BYTES = 256 << 20
"""The memory in bytes for the keys of a task: 5 million keys of 16 bytes (docs/compaction.md). If there are more keys,
the log is read more than once."""
NEEDS_ROOM = "nothing was changed: a dry run writes the cleaned segments to the directory for temporary files (TMPDIR)"


@dataclass(frozen=True, slots=True)
class CompactionTask:
    """One partition to compact, with its checkpointed offsets. Times are ms since 1970."""

    topic: str
    partition: int
    directory: Path
    config: LogConfig
    now_ms: int
    cleaned_up_to: int | None
    log_start_offset: int | None
    high_watermark: int | None
    """None if the log end offset counts instead."""
    max_map_bytes: int
    bytes_per_second: float
    is_dry_run: bool


@dataclass(slots=True)
class PartitionOutcome:
    """The result for a partition. `refusal`: why it was left unchanged; None if it was compacted. Sizes are bytes."""

    topic: str
    partition: int
    refusal: str | None = None
    rounds: int = 0
    first_dirty_offset: int = 0
    first_uncleanable_offset: int = 0
    cleaned_up_to: int | None = None
    bytes_before: int = 0
    bytes_after: int = 0
    segments_before: int = 0
    segments_after: int = 0
    records_before: int = 0
    records_after: int = 0
    records_without_key: int = 0

    def add(self, result: RoundResult) -> None:
        """Adds the result of a round."""
        if not self.rounds:
            self.bytes_before, self.segments_before = result.bytes_before, result.segments_before
            self.records_before = result.records_read
        self.rounds += 1
        self.bytes_after, self.segments_after = result.bytes_after, result.segments_after
        self.records_after = result.records_kept
        self.records_without_key += result.records_without_key
        self.cleaned_up_to = result.cleaned_up_to


def compact_partition(task: CompactionTask, files: Files | None = None) -> PartitionOutcome:
    """Compacts a partition. Damage, missing files and disk errors end in a `refusal`, and the partition is unchanged.

    If the disk failed during a swap of segments, the next run or the next start of a broker completes the swap.
    """
    outcome = PartitionOutcome(task.topic, task.partition)
    layer = OverlayFiles(in_memory=False) if task.is_dry_run else files or Files()
    try:
        recover_swap_files(layer, task.directory)
        _clean_until_unchanged(task, layer, outcome)
    except (KafkaError, CorruptIndexError) as error:
        outcome.refusal = f"{error}; this round changed nothing in the partition (`odradek audit` shows the damage)"
    except OSError as error:
        outcome.refusal = f"{error}; {NEEDS_ROOM if task.is_dry_run else 'the next run continues from here'}"
    if outcome.refusal is not None and not task.is_dry_run:
        with suppress(OSError):  # `refusal` already has the first error
            recover_swap_files(layer, task.directory)
    return outcome


def _clean_until_unchanged(task: CompactionTask, files: Files, outcome: PartitionOutcome) -> None:
    cleaned_up_to = task.cleaned_up_to
    pace = _pace(task.bytes_per_second)
    steps = fastest_steps()
    for _ in range(MAX_ROUNDS):
        facts = read_partition(
            files, task.directory, now_ms=task.now_ms, producer_id_expiration_ms=task.config.producer_id_expiration_ms
        )
        if not facts.segments:
            return
        offsets = _range(task, facts, cleaned_up_to)
        if not outcome.rounds:
            outcome.first_dirty_offset, outcome.first_uncleanable_offset, _ = offsets
        if offsets.first_uncleanable_offset <= facts.segments[0].base_offset:
            outcome.cleaned_up_to = offsets.first_dirty_offset
            return
        cleaner = PartitionCleaner(files, task.directory, task.config, task.now_ms, pace=pace, steps=steps)
        clean = partial(cleaner.clean, facts, offsets, max_map_bytes=task.max_map_bytes)
        try:
            is_clean = offsets.first_dirty_offset >= offsets.first_uncleanable_offset
            result = clean(is_dry_run=is_clean)  # a clean log rarely changes: a dry run first saves writing it
            if result.is_changed and is_clean:
                result = clean()
        except SegmentOffsetOverflowError as error:
            _split(task, files, facts, error, pace)
            continue  # the same round once more
        outcome.add(result)
        if not result.is_changed and result.cleaned_up_to >= offsets.first_uncleanable_offset:
            return
        cleaned_up_to = result.cleaned_up_to


def _split(
    task: CompactionTask, files: Files, facts: PartitionFacts, error: SegmentOffsetOverflowError, pace: Pace
) -> None:
    """Splits the segment with an offset too far from its base offset for the indexes, as Kafka's cleaner does."""
    segment = [segment for segment in facts.segments if segment.base_offset <= error.offset][-1]
    assert error.offset - segment.base_offset > MAX_RELATIVE_OFFSET, "a group of segments fits into one index"
    recover_swap_files(files, task.directory)  # removes or completes the files of the failed round
    split_overflowed_segment(
        files, task.directory, segment, task.config.index_interval_bytes, pace, buffer_bytes=WRITE_CHUNK
    )


def _pace(bytes_per_second: float) -> Pace:
    def wait(seconds: float) -> bool:
        if seconds:
            time.sleep(seconds)
        return False

    return Pace(bytes_per_second, time.monotonic, wait)


def _range(task: CompactionTask, facts: PartitionFacts, cleaned_up_to: int | None) -> CleanableRange:
    stable = facts.log_end_offset
    if facts.first_unstable_offset is not None:
        stable = min(stable, facts.first_unstable_offset)
    if task.high_watermark is not None:
        stable = min(stable, task.high_watermark)
    return cleanable_range(
        facts.segments,
        cleaned_up_to=cleaned_up_to,
        log_start_offset=max(facts.segments[0].base_offset, task.log_start_offset or 0),
        log_end_offset=facts.log_end_offset,
        last_stable_offset=stable,
        min_compaction_lag_ms=task.config.min_compaction_lag_ms,
        now_ms=task.now_ms,
        high_watermark=task.high_watermark,
    )


def fastest_steps() -> RecordSteps:
    """The compiled steps if numba and numpy are installed, else those in Python. Both write the same bytes."""
    if IS_COMPILED and find_spec("numpy") is not None:
        return compiled_steps.CompiledSteps()
    return PlainSteps()
