"""The compaction of a topic in one log directory: lock, plan, run on an engine, checkpoint.

Holds the broker's own lock while anything may be written, so that neither ours nor a real Kafka runs on the directory.
Source: Kafka's LogCleanerManager (cleaner-offset-checkpoint, written after a partition's last swap).
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from ...storage.checkpoints import (
    CLEANER_OFFSET_CHECKPOINT,
    LOG_START_OFFSET_CHECKPOINT,
    REPLICATION_OFFSET_CHECKPOINT,
    read_offset_checkpoint,
    write_offset_checkpoint,
)
from ...storage.compaction.offset_map import UNLIMITED
from ...storage.directory_lock import DirectoryLock
from ...storage.files import Files
from ..cluster_metadata import ClusterMetadata, read_cluster_metadata
from ..engines import LOCAL, run_tasks
from ..log_directories import LogDirectoryError, PartitionDirectory, find_partitions
from .partition_job import PartitionOutcome, PartitionTask, compact_partition
from .topic_config import ConfigValueError, compaction_config


@dataclass(frozen=True, slots=True)
class CompactionOrder:
    """What a caller asks for. `now_ms` is the clock of the whole run, ms since 1970."""

    directory: Path
    topic: str
    now_ms: int
    partitions: tuple[int, ...] = ()
    configs: Mapping[str, str] | None = None
    max_map_entries: int = UNLIMITED
    is_dry_run: bool = False
    engine: str = LOCAL


def compact_topic(order: CompactionOrder, files: Files | None = None) -> Iterator[PartitionOutcome]:
    """Compacts the topic's partitions and yields what became of each.

    Raises DirectoryLockedError while a broker runs, LogDirectoryError, ConfigValueError, CorruptCheckpointError,
    EngineMissingError, OSError.
    """
    layer = files or Files()
    if not order.directory.is_dir():
        raise LogDirectoryError(f"{order.directory} is no directory")
    with _locked(order.directory):
        tasks = _plan(order, layer)
        if order.engine == LOCAL and files is not None:
            outcomes: Iterator[PartitionOutcome] = (compact_partition(task, layer) for task in tasks)
        else:
            outcomes = run_tasks(order.engine, tasks, compact_partition, f"odradek compact {order.topic}")
        for outcome in outcomes:
            if outcome.cleaned_up_to is not None and not order.is_dry_run and outcome.refusal is None:
                _checkpoint(layer, order.directory, outcome, outcome.cleaned_up_to)
            yield outcome


@contextmanager
def _locked(directory: Path) -> Iterator[None]:
    lock = DirectoryLock(directory)
    try:
        yield
    finally:
        lock.release()


def _plan(order: CompactionOrder, files: Files) -> list[PartitionTask]:
    partitions = find_partitions(order.directory, [order.topic])
    if order.partitions:
        partitions = [found for found in partitions if found.partition in order.partitions]
    if not partitions:
        raise LogDirectoryError(f"{order.directory} has no such partition of topic '{order.topic}'")
    metadata = read_cluster_metadata(order.directory)
    config = compaction_config(
        metadata.topic_configs.get(order.topic, {}), metadata.broker_configs, order.configs or {}
    )
    if not config.is_compacted:
        raise ConfigValueError(
            f"cleanup.policy of topic '{order.topic}' is {','.join(sorted(config.cleanup_policy))}, as far as the "
            "metadata in this directory says; --config cleanup.policy=compact compacts it all the same"
        )
    cleaned = read_offset_checkpoint(files, order.directory / CLEANER_OFFSET_CHECKPOINT)
    starts = read_offset_checkpoint(files, order.directory / LOG_START_OFFSET_CHECKPOINT)
    watermarks = read_offset_checkpoint(files, order.directory / REPLICATION_OFFSET_CHECKPOINT)
    return [
        PartitionTask(
            found.topic,
            found.partition,
            found.path,
            config,
            order.now_ms,
            cleaned.get(key := (found.topic, found.partition)),
            starts.get(key),
            _high_watermark(watermarks.get(key), metadata, found),
            order.max_map_entries,
            order.is_dry_run,
        )
        for found in partitions
    ]


def _high_watermark(checkpointed: int | None, metadata: ClusterMetadata, found: PartitionDirectory) -> int | None:
    """The checkpoint's; without one the log's end (None) where this is the only replica, else nothing is known (0)."""
    if checkpointed is not None:
        return checkpointed
    topic = metadata.topics.get(found.topic)
    return None if topic is not None and topic.replicas.get(found.partition) == 1 else 0


def _checkpoint(files: Files, directory: Path, outcome: PartitionOutcome, cleaned_up_to: int) -> None:
    path = directory / CLEANER_OFFSET_CHECKPOINT
    offsets = read_offset_checkpoint(files, path)
    offsets[outcome.topic, outcome.partition] = cleaned_up_to
    write_offset_checkpoint(files, path, offsets)
