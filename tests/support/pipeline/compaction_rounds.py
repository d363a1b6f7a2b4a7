"""One round of cleaning of a partition: by Kafka's cleaner, by ours offline, and by ours as in a broker.

Tests that compare cleaners use these functions.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from odradek.pipeline.compact.partition_job import fastest_steps
from odradek.protocol.records.batch import BatchHeader
from odradek.protocol.records.record import decode_records
from odradek.storage.compaction.cleaning import PartitionCleaner
from odradek.storage.compaction.grouping import cleanable_range
from odradek.storage.compaction.offset_map import UNLIMITED as UNBOUNDED
from odradek.storage.compaction.order import RoundLimits
from odradek.storage.compaction.partition_facts import read_partition
from odradek.storage.compaction.record_steps import RecordSteps
from odradek.storage.files.descriptors import DescriptorCache
from odradek.storage.log.log import Log
from odradek.storage.log.log_config import LogConfig
from odradek.storage.segment.transaction_index import TransactionIndex
from support.data.cleaned_log import UNLIMITED, clean_log
from support.disks.unsynced_files import UnsyncedFiles
from support.kafka.java_program import JavaProgram
from support.pipeline.compaction_log import read_headers

COMPARED = (".log", ".index", ".timeindex", ".txnindex")
MANY_KEYS = 100_000
FEW_BYTES = 1000
"""A memory limit of about ten keys."""
SLOTS_OF_A_KEY = 1 / 0.9
"""The share up to which Kafka fills its map (log.cleaner.io.buffer.load.factor)."""


class RoundOrder(NamedTuple):
    """One round at `now_ms`. `cleaned_up_to`: the checkpoint, None without one. `max_keys`: the size of the map.

    `high_watermark`: None for the log's end.
    """

    now_ms: int
    cleaned_up_to: int | None = None
    max_keys: int = MANY_KEYS
    buffer_bytes: int = 1 << 18
    log_start_offset: int = 0
    high_watermark: int | None = None


CleanOnce = Callable[[Path, LogConfig, RoundOrder], int]
"""Runs a round; returns the next first dirty offset."""


class CleanerOracle(JavaProgram):
    """Kafka's Cleaner class (tests/java/CleanerOracle.java)."""

    NAME = "CleanerOracle"

    def clean(self, directory: Path, config: LogConfig, order: RoundOrder) -> int:
        """Runs one round; returns the next first dirty offset."""
        answer = self.order(self._words(directory, config, order))
        assert "error" not in answer, answer
        return int(answer["cleanedUpTo"])

    def refusal(self, directory: Path, config: LogConfig, order: RoundOrder) -> str:
        """The error of a round; "" for none."""
        return str(self.order(self._words(directory, config, order)).get("error", ""))

    def open(self, directory: Path, config: LogConfig, now_ms: int) -> int:
        """Opens the log as Kafka does after a clean stop, and closes it; returns the log end offset."""
        answer = self.order(self._words(directory, config, RoundOrder(now_ms)) | {"onlyOpens": True})
        assert "error" not in answer, answer
        return int(answer["end"])

    def _words(self, directory: Path, config: LogConfig, order: RoundOrder) -> dict[str, Any]:
        configs = {
            "internal.segment.bytes": config.segment_bytes,
            "segment.index.bytes": config.segment_index_bytes,
            "index.interval.bytes": config.index_interval_bytes,
            "delete.retention.ms": config.delete_retention_ms,
            "min.compaction.lag.ms": config.min_compaction_lag_ms,
            "max.message.bytes": config.max_message_bytes,
            "max.decompressed.message.bytes": config.max_decompressed_message_bytes,
            "producer.id.expiration.ms": config.producer_id_expiration_ms,
        }
        return {
            "directory": str(directory),
            "nowMs": order.now_ms,
            "onlyOpens": False,
            "configs": {key: str(value) for key, value in configs.items()},
            "cleanedUpTo": order.cleaned_up_to,
            "highWatermark": order.high_watermark,
            "logStartOffset": order.log_start_offset,
            "mapSlots": _slots(order.max_keys),
            "bufferBytes": order.buffer_bytes,
        }


def _slots(max_keys: int) -> int:
    """The smallest number of slots whose share under the load factor is ``max_keys``."""
    slots = int(max_keys * SLOTS_OF_A_KEY)
    while int(slots * 0.9) < max_keys:
        slots += 1
    return slots


def clean_offline(directory: Path, config: LogConfig, order: RoundOrder) -> int:
    """A round as in `odradek compact`, over files that no process has open."""
    return _clean_files(directory, config, order, UNBOUNDED)


def clean_in_ranges(directory: Path, config: LogConfig, order: RoundOrder) -> int:
    """The same with memory for a few keys at a time, unless the order limits their number, as Kafka's does."""
    return _clean_files(directory, config, order, FEW_BYTES if order.max_keys == MANY_KEYS else UNBOUNDED)


def clean_compiled(directory: Path, config: LogConfig, order: RoundOrder) -> int:
    """Cleans as `clean_in_ranges` does, with the compiled steps that `odradek compact` uses if numba is installed."""
    few = FEW_BYTES if order.max_keys == MANY_KEYS and order.cleaned_up_to is None else UNBOUNDED
    return _clean_files(directory, config, order, few, fastest_steps())


def _clean_files(
    directory: Path, config: LogConfig, order: RoundOrder, max_map_bytes: int, steps: RecordSteps | None = None
) -> int:
    files = UnsyncedFiles()
    facts = read_partition(
        files, directory, now_ms=order.now_ms, producer_id_expiration_ms=config.producer_id_expiration_ms
    )
    bounds = (facts.log_end_offset, facts.first_unstable_offset, order.high_watermark)
    offsets = cleanable_range(
        facts.segments,
        cleaned_up_to=order.cleaned_up_to,
        log_start_offset=order.log_start_offset,
        log_end_offset=facts.log_end_offset,
        last_stable_offset=min(bound for bound in bounds if bound is not None),
        min_compaction_lag_ms=config.min_compaction_lag_ms,
        now_ms=order.now_ms,
        high_watermark=order.high_watermark,
    )
    cleaner = PartitionCleaner(
        files, directory, config, order.now_ms, buffer_bytes=max(order.buffer_bytes, 4096), steps=steps
    )
    return cleaner.clean(facts, offsets, max_map_entries=order.max_keys, max_map_bytes=max_map_bytes).cleaned_up_to


def clean_live(directory: Path, config: LogConfig, order: RoundOrder) -> int:
    """A round as in a broker: over an open log, which continues with the cleaned segments."""
    files = UnsyncedFiles()
    log = Log.open(
        directory,
        config,
        now_ms=order.now_ms,
        log_start_offset=order.log_start_offset,
        clean_shutdown=True,
        descriptors=DescriptorCache(files),
    )
    limits = RoundLimits(order.max_keys, UNLIMITED.buffer_bytes, UNLIMITED.bytes_per_second)
    outcome = clean_log(log, cleaned_up_to=order.cleaned_up_to, now_ms=order.now_ms, limits=limits)
    log.remove_deleted_files(order.now_ms + config.file_delete_delay_ms)
    log.close()
    return outcome.result.cleaned_up_to


def kafka_mistakes_an_abort(directory: Path, start: int) -> bool:
    """Whether a round of Kafka that begins at `start`, within a segment, may treat committed records as aborted.

    Kafka collects the aborted transactions from the log's start on (LocalLog.collectAbortedTransactions ignores the
    offset), but reads from an index entry at or before `start`. It never reads the marker of a transaction that ended
    before that entry, and therefore treats the next committed records of its producer as aborted. Their keys are not in
    its map, so older records with these keys stay.
    """
    index = max((path for path in directory.glob("*.txnindex") if int(path.stem) <= start), default=None)
    segment = max(int(path.stem) for path in directory.glob("*.log") if int(path.stem) <= start)
    if index is None or int(index.stem) != segment:
        return False
    return any(entry.last_offset < start for entry in TransactionIndex(segment, index.read_bytes()).entries)


def contents(directory: Path) -> dict[str, bytes]:
    """The bytes of the files that a cleaning writes, by name."""
    return {path.name: path.read_bytes() for path in sorted(directory.iterdir()) if path.suffix in COMPARED}


def decoded(directory: Path) -> list[tuple[str, BatchHeader, object]]:
    """File names, headers (without size and CRC) and records of every batch.

    Two libraries compress to different bytes.
    """
    return [
        (name, header._replace(batch_length=0, crc=0), decode_records(data, header, position))
        for name, position, header, data in read_headers(directory)
    ]


def is_compressed(directory: Path) -> bool:
    """Whether any batch is compressed."""
    return any(header.is_compressed for _, _, header, _ in read_headers(directory))


def are_grouped_otherwise(ours: Path, kafkas: Path) -> bool:
    """Whether both have the same compressed batches, in other files.

    Segments are grouped by their size, and two libraries compress the same records to different sizes. So a group that
    just fits into segment.bytes here may be too large there.
    """
    mine, theirs = contents(ours), contents(kafkas)
    if sorted(mine) == sorted(theirs) or not is_compressed(ours):
        return False

    def without_names(directory: Path) -> list[object]:
        return [batch for _, *batch in decoded(directory)]

    def aborted(files: dict[str, bytes]) -> bytes:
        return b"".join(data for name, data in files.items() if name.endswith(".txnindex"))

    return without_names(ours) == without_names(kafkas) and aborted(mine) == aborted(theirs)


def check_equal(ours: Path, kafkas: Path, what: str) -> None:
    """Raises AssertionError, beginning with `what`, unless both partitions have the same content.

    Compares every byte. If any batch is compressed, compares headers, records, file names and transaction indexes
    instead, because two libraries compress to different bytes.
    """
    mine, theirs = contents(ours), contents(kafkas)
    assert sorted(mine) == sorted(theirs), f"{what}: other files"
    has_codecs = is_compressed(ours)
    for name, data in mine.items():
        if not has_codecs or name.endswith(".txnindex"):
            assert data == theirs[name], f"{what}: {name} differs"
    if has_codecs:
        left, right = decoded(ours), decoded(kafkas)
        for number, (one, other) in enumerate(zip(left, right, strict=False)):
            assert one == other, f"{what}: batch {number} differs\nours    {one}\nKafka's {other}"
        assert len(left) == len(right), f"{what}: {len(left)} batches, Kafka's has {len(right)}"
