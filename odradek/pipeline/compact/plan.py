"""Selects the partitions of a log directory to compact, with their configuration and checkpointed offsets.

Reads names, checkpoints and the directory's metadata log. Never reads another log, never writes. Skips directories that
end in -delete, -future or -stray. Source: Kafka's LogManager.fetchLogConfig, LogCleanerManager.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from odradek.protocol.names.topics import METADATA_TOPIC
from odradek.storage.errors import CorruptCheckpointError
from odradek.storage.files.checkpoints import (
    CLEANER_OFFSET_CHECKPOINT,
    LOG_START_OFFSET_CHECKPOINT,
    REPLICATION_OFFSET_CHECKPOINT,
    read_offset_checkpoint,
)
from odradek.storage.files.file_names import parse_partition_directory
from odradek.storage.files.files import Files
from odradek.storage.files.meta_properties import read_meta_properties
from odradek.storage.log.log_config import LogConfig

from ..directories.cluster_metadata import DirectoryMetadata
from ..directories.log_directories import LogDirectoryError, PartitionDirectory, find_partitions
from ..directories.metadata_reader import read_cluster_metadata
from ..engine.engines import LOCAL
from .partition_job import DEFAULT_MAP_BYTES, CompactionTask, PartitionOutcome
from .topic_config import ConfigValueError, compaction_config


class CompactionProgress(NamedTuple):
    """The progress of a run: partitions, and the bytes that their logs had at the start of the run."""

    partitions_done: int
    partitions: int
    bytes_done: int
    bytes: int


@dataclass(frozen=True, slots=True)
class CompactionOrder:
    """The options of a compaction. `now_ms`: the current time for the whole run, ms since 1970.

    `topics`: if empty, all whose cleanup.policy in the metadata has compact. `max_map_bytes`: memory for the keys of a
    task. `bytes_per_second`: limits reads and writes. `progress`: called at the start and after each partition.
    """

    directory: Path
    now_ms: int
    topics: tuple[str, ...] = ()
    partitions: tuple[int, ...] = ()
    configs: Mapping[str, str] | None = None
    max_map_bytes: int = DEFAULT_MAP_BYTES
    bytes_per_second: float = float("inf")
    is_dry_run: bool = False
    engine: str = LOCAL
    progress: Callable[[CompactionProgress], None] | None = None


@dataclass(frozen=True, slots=True)
class CompactionPlan:
    """The partitions to compact with the bytes of each log, and the outcomes of those that can't be compacted."""

    tasks: list[CompactionTask]
    sizes: list[int]
    refused: list[PartitionOutcome]


def plan_compaction(order: CompactionOrder, files: Files) -> CompactionPlan:
    """Plans a compaction: a task for each partition to compact.

    Raises LogDirectoryError, ConfigValueError (for a topic that was named and can't be compacted),
    CorruptCheckpointError, OSError.
    """
    found = _partitions(order)
    metadata = read_cluster_metadata(order.directory)
    configs, refusals = _configs(
        order, metadata, _broker_id(files, order.directory), {partition.topic for partition in found}
    )
    chosen = [partition for partition in found if partition.topic in configs]
    refused = [
        PartitionOutcome(partition.topic, partition.partition, refusals[partition.topic])
        for partition in found
        if partition.topic in refusals
    ]
    refused += [
        PartitionOutcome(partition.topic, partition.partition, _oddity(partition))
        for partition in chosen
        if _oddity(partition)
    ]
    chosen = [partition for partition in chosen if not _oddity(partition)]
    tasks = list(_tasks(order, files, metadata, configs, chosen))
    return CompactionPlan(tasks, [sum(segment.size for segment in partition.segments) for partition in chosen], refused)


def _oddity(found: PartitionDirectory) -> str:
    """The reason not to compact a partition, "" if there is none.

    Its directory or a segment is a link, FIFO or device, or the system cannot read its status.
    """
    if found.fault:
        return f"{found.path}: {found.fault}"
    return next((f"{segment.path} is not a file" for segment in found.segments if not segment.is_file), "")


def _partitions(order: CompactionOrder) -> list[PartitionDirectory]:
    """The partitions of the order's topics, or of all topics if it names none. Raises LogDirectoryError, OSError."""
    if parse_partition_directory(order.directory.name) is not None and any(order.directory.glob("*.log")):
        raise LogDirectoryError(
            f"{order.directory} is the directory of a partition: give the log directory that contains it"
        )
    if METADATA_TOPIC in order.topics:
        raise LogDirectoryError(
            f"{METADATA_TOPIC} cannot be compacted: controllers replace its older records with snapshots, as in Kafka"
        )
    # The directory is locked: a swap that is half done is that of a killed compaction, and waits for its next run.
    found = find_partitions(order.directory, order.topics or None, restarts=0)
    missing = sorted(set(order.topics) - {partition.topic for partition in found})
    if missing:
        raise LogDirectoryError(f"{order.directory} has no partition of topic '{missing[0]}'")
    if order.partitions:
        found = [partition for partition in found if partition.partition in order.partitions]
        if not found:
            raise LogDirectoryError(f"{order.directory} has no such partition")
    return found


def _broker_id(files: Files, directory: Path) -> str | None:
    try:
        meta = read_meta_properties(files, directory)
    except CorruptCheckpointError:
        return None  # configs of this broker alone are then not known; `odradek audit` reports the file
    return None if meta is None else str(meta.node_id)


def _configs(
    order: CompactionOrder, metadata: DirectoryMetadata, broker_id: str | None, topics: Iterable[str]
) -> tuple[dict[str, LogConfig], dict[str, str]]:
    """Returns (the configuration of each topic to compact, the reason for each topic that can't be compacted)."""
    configs: dict[str, LogConfig] = {}
    refusals: dict[str, str] = {}
    if not order.topics and not metadata.is_known and not (order.configs or {}).get("cleanup.policy"):
        raise LogDirectoryError(
            f"{order.directory} has no metadata log that says which topics are compacted: name them with --topic"
        )
    for topic in sorted(topics):
        try:
            config = compaction_config(
                metadata.topic_configs.get(topic, {}), metadata.configs_of_broker(broker_id), order.configs or {}
            )
        except ConfigValueError as error:
            if order.topics:
                raise
            refusals[topic] = str(error)
            continue
        if config.is_compacted:
            configs[topic] = config
        elif order.topics:
            raise ConfigValueError(
                f"topic '{topic}' has cleanup.policy={','.join(sorted(config.cleanup_policy))} in the metadata of this "
                "directory; to compact it nevertheless, add --config cleanup.policy=compact"
            )
    return configs, refusals


def _tasks(
    order: CompactionOrder,
    files: Files,
    metadata: DirectoryMetadata,
    configs: Mapping[str, LogConfig],
    partitions: Iterable[PartitionDirectory],
) -> Iterator[CompactionTask]:
    cleaned = read_offset_checkpoint(files, order.directory / CLEANER_OFFSET_CHECKPOINT)
    starts = read_offset_checkpoint(files, order.directory / LOG_START_OFFSET_CHECKPOINT)
    watermarks = read_offset_checkpoint(files, order.directory / REPLICATION_OFFSET_CHECKPOINT)
    for found in partitions:
        key = (found.topic, found.partition)
        yield CompactionTask(
            found.topic,
            found.partition,
            found.path,
            configs[found.topic],
            order.now_ms,
            cleaned.get(key),
            starts.get(key),
            _high_watermark(watermarks.get(key), metadata, found),
            order.max_map_bytes,
            order.bytes_per_second,
            order.is_dry_run,
        )


def _high_watermark(checkpointed: int | None, metadata: DirectoryMetadata, found: PartitionDirectory) -> int | None:
    """The checkpointed high watermark. Without one: None (the log end) if the partition has one replica, else 0."""
    if checkpointed is not None:
        return checkpointed
    topic = metadata.topics.get(found.topic)
    return None if topic is not None and topic.replicas.get(found.partition) == 1 else 0
