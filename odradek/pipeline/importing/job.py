"""Imports files into directories of partitions: sorts rows by partition, writes the logs, renames the directories.

Owns: the order of these steps. Invariants: the log directory is locked during the import. Unfinished directories have
names that end in `-delete`, which every broker removes when it starts. The partitions get their final names only when
all are complete and durable. `odradek storage add-topics` adds the topics to the metadata afterwards. Source: Kafka's
LogManager.loadLogs, LocalLog.logDeleteDirName.
"""

import os
import re
import shutil
import uuid
from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass, field
from pathlib import Path

from odradek.protocol.names.topics import INTERNAL_TOPICS, METADATA_TOPIC, RESERVED_TOPICS
from odradek.protocol.records.compression import CompressionType
from odradek.storage.directory.directory_lock import DirectoryLock
from odradek.storage.files.checkpoints import (
    RECOVERY_POINT_CHECKPOINT,
    REPLICATION_OFFSET_CHECKPOINT,
    read_offset_checkpoint,
    write_offset_checkpoint,
)
from odradek.storage.files.file_names import (
    DELETE_DIRECTORY_SUFFIX,
    parse_partition_directory,
    partition_directory_name,
    renamed_directory_name,
)
from odradek.storage.files.files import Files
from odradek.storage.files.meta_properties import META_PROPERTIES, read_meta_properties

from ..directories.metadata_reader import read_cluster_metadata
from ..engine.engines import LOCAL, run_tasks
from ..engine.job import Job, writing
from .batches import FIRST_LEADER_EPOCH, empty_batch, encode_rows
from .input_rows import USUAL_SIZES, ImportSizes
from .inputs import ImportRefusedError, InputPart, input_parts
from .partition_files import PartitionFiles, WrittenPartition
from .spill import NOTHING_IMPORTED, SpilledRows, SpillTask, read_spilled, spill
from .state import ExportedState, RestoredPartition, by_epoch, committed_rows, epochs_from

_TOPIC_NAME = re.compile(r"[A-Za-z0-9._-]{1,249}")
MOST_PARTITIONS = 100_000
"""The maximum number of partitions of a topic. A larger partition number in the input is probably a mistake."""


MOST_BYTES = 0x7FFFFFFF
"""The maximum of bytes of a segment."""
INTERNAL_SEGMENT_BYTES = 8 << 20
"""`odradek storage add-topics` reads so many bytes of each segment of an internal topic for its ids."""


@dataclass(frozen=True, slots=True)
class ImportOrder:
    """The options of an import. Sizes are bytes."""

    inputs: Sequence[Path]
    directory: Path
    topic: str | None = None
    """The topic of all rows; None: that in the input."""
    partitions: int | None = None
    """The number of partitions over which to spread the rows by their keys; None: the input has the partition."""
    partition_counts: Mapping[str, int] = field(default_factory=dict)
    """Topic -> the number of its partitions. Those without rows are created empty."""
    keeps_offsets: bool = True
    is_base64: bool = False
    compression: CompressionType = CompressionType.NONE
    segment_bytes: int = 1 << 30
    batch_bytes: int = 16_384
    now_ms: int = 0
    """The time of rows that have none, ms since 1970."""
    max_workers: int | None = None
    config_topics: frozenset[str] = frozenset()
    """The topics for which configs were given. Each must be in the input."""
    state: ExportedState = field(default_factory=ExportedState)
    """What to restore besides the rows."""
    node_id: int | None = None
    cluster_id: str | None = None
    """The ids for a new directory. One that is formatted must have them already."""
    sizes: ImportSizes = USUAL_SIZES


def random_topic_id() -> bytes:
    """A random UUID whose text doesn't begin with a dash (``Uuid.randomUuid``)."""
    while True:
        topic_id = uuid.uuid4().bytes
        if topic_id[0] & 0xFC != 0xF8:
            return topic_id


@dataclass(frozen=True, slots=True)
class ImportTask:
    """A partition to be written into `directory`. Sizes are bytes."""

    topic: str
    partition: int
    directory: Path
    spilled: tuple[SpilledRows, ...]
    topic_id: bytes
    keeps_offsets: bool
    compression: CompressionType
    segment_bytes: int
    batch_bytes: int
    sizes: ImportSizes
    state: RestoredPartition | None = None


def write_partition(task: ImportTask) -> WrittenPartition:
    """Writes the partition durably. Raises ImportRefusedError, OutputFaultError."""
    written = WrittenPartition(task.topic, task.partition)
    state = task.state
    with writing(task.directory.parent, NOTHING_IMPORTED):
        start = None if state is None else state.log_start_offset
        output = PartitionFiles(task.directory, written, task.segment_bytes, start)
        rows = read_spilled(task.spilled, task.sizes, keeps_offsets=task.keeps_offsets) if task.spilled else iter(())
        if state is None:
            for batch in rows:
                output.append(encode_rows(batch, task.compression, task.batch_bytes))
            output.close(task.topic_id, [(FIRST_LEADER_EPOCH, written.log_start_offset)])
            return written
        epochs = epochs_from(state)
        for batch in committed_rows(rows, state, written):
            for leader_epoch, part in by_epoch(batch, epochs):
                output.append(encode_rows(part, task.compression, task.batch_bytes, leader_epoch))
        if written.log_end_offset < state.log_end_offset:
            output.append([empty_batch(written.log_end_offset, state.log_end_offset, epochs[-1][0])])
        output.close(task.topic_id, epochs)
    return written


def import_rows(
    order: ImportOrder,
    progress: Callable[[str, int, int], None] | None = None,
    before_naming: Callable[[], None] | None = None,
) -> list[WrittenPartition]:
    """Writes the partitions. On return they are durable and have their final names, but are not in the metadata yet.

    `progress` is called with ("read" or "written", parts done, parts in all). `before_naming` is called before the
    partitions get their final names. Raises ImportRefusedError, TaskError, DirectoryLockedError, OSError,
    CorruptCheckpointError; no partition has its final name then, unless a rename itself failed.
    """
    files = Files()
    files.make_directory_durably(order.directory)
    lock = DirectoryLock(order.directory)
    unique = os.urandom(16).hex()
    scratch = order.directory / renamed_directory_name("import", 0, unique, DELETE_DIRECTORY_SUFFIX)
    unfinished: list[Path] = [scratch]
    try:
        _refuse_without_metadata(order.directory)
        _refuse_other_ids(order)
        known = read_cluster_metadata(order.directory).topics
        state = order.state.without(INTERNAL_TOPICS & known.keys())
        files.make_directory(scratch)
        spilled = _spill(order, _parts(order, state), scratch, progress)
        topics = _partitions_of(order, state, spilled)
        _refuse_names(topics, state)
        _refuse_missing(order.config_topics - topics.keys())
        _refuse_existing(order.directory, known.keys(), topics)
        tasks = _tasks(order, state, {facts.topic_id for facts in known.values()}, topics, unique)
        unfinished += [task.directory for task in tasks]
        written = list(
            run_tasks(
                LOCAL,
                Job(
                    tasks,
                    write_partition,
                    "odradek import",
                    place=lambda task: f"{task.topic}-{task.partition}",
                    sizes=[sum(rows.size for rows in task.spilled) for task in tasks],
                    progress=None if progress is None else lambda done, total: progress("written", done, total),
                    max_workers=order.max_workers,
                ),
            )
        )
        shutil.rmtree(scratch)
        if before_naming is not None:
            before_naming()
        _write_checkpoints(files, order.directory, written)
        for task in tasks:
            files.rename(task.directory, order.directory / partition_directory_name(task.topic, task.partition))
        files.sync_directory(order.directory)
    finally:
        for path in unfinished:
            shutil.rmtree(path, ignore_errors=True)
        lock.close()
    return written


def _parts(order: ImportOrder, state: ExportedState) -> list[InputPart]:
    """The parts of the rows, and of the coordinators' topics in the state. Raises ImportRefusedError, OSError."""
    internal = state.coordinator_inputs
    found = [part for part in input_parts(order.inputs, order.sizes.part_bytes) if part.topic not in internal]
    found += input_parts(internal.values(), order.sizes.part_bytes)
    return [part._replace(number=number) for number, part in enumerate(found)]


def _spill(
    order: ImportOrder,
    parts: Sequence[InputPart],
    scratch: Path,
    progress: Callable[[str, int, int], None] | None,
) -> list[SpilledRows]:
    tasks = [
        SpillTask(
            part,
            scratch,
            order.topic,
            order.partitions,
            order.keeps_offsets,
            order.is_base64,
            order.now_ms,
            order.sizes,
        )
        for part in parts
    ]
    found = run_tasks(
        LOCAL,
        Job(
            tasks,
            spill,
            "odradek import",
            place=lambda task: task.part.path,
            progress=None if progress is None else lambda done, total: progress("read", done, total),
            max_workers=order.max_workers,
        ),
    )
    return [spilled for rows in found for spilled in rows]


def _partitions_of(
    order: ImportOrder, state: ExportedState, spilled: Sequence[SpilledRows]
) -> dict[str, dict[int, list[SpilledRows]]]:
    """Topic -> partition -> its rows. Includes partitions without rows. Raises ImportRefusedError."""
    topics: dict[str, dict[int, list[SpilledRows]]] = {
        name: {topic.partitions - 1: []} for name, topic in state.topics.items()
    }
    for rows in spilled:
        topics.setdefault(rows.topic, {}).setdefault(rows.partition, []).append(rows)
    for topic, count in order.partition_counts.items():
        highest = max(topics.get(topic, {0: None}))
        if count <= highest:
            raise ImportRefusedError(f"--partition-count {topic}={count}: there are rows of partition {highest}")
        topics.setdefault(topic, {})[count - 1] = topics.get(topic, {}).get(count - 1, [])
    if not topics:
        raise ImportRefusedError("the input has no rows")
    for topic, partitions in topics.items():
        highest = max(partitions)
        if highest >= MOST_PARTITIONS:
            raise ImportRefusedError(
                f"{topic}: there are rows of partition {highest}, the limit is {MOST_PARTITIONS - 1}"
            )
        if order.partitions is not None:
            highest = max(highest, order.partitions - 1)
        for index in range(highest + 1):
            partitions.setdefault(index, [])
    return topics


def _refuse_without_metadata(directory: Path) -> None:
    """Raises ImportRefusedError for a formatted log directory without a metadata log, to which topics are added."""
    if (directory / META_PROPERTIES).exists() and not (directory / f"{METADATA_TOPIC}-0").exists():
        raise ImportRefusedError(
            f"{directory} is formatted and has no cluster metadata: import into the directory that has it, or a new one"
        )


def _refuse_other_ids(order: ImportOrder) -> None:
    """Raises ImportRefusedError if the directory is formatted with another node id or cluster id than asked for."""
    found = read_meta_properties(Files(), order.directory)
    if found is not None:
        for option, asked, has in (
            ("--node-id", order.node_id, found.node_id),
            ("--cluster-id", order.cluster_id, found.cluster_id),
        ):
            if asked is not None and asked != has:
                raise ImportRefusedError(f"{option} {asked}: {order.directory} is formatted with {has}")


def _refuse_existing(directory: Path, in_metadata: Set[str], topics: Mapping[str, object]) -> None:
    known = in_metadata | {
        key[0]
        for name in os.listdir(directory)
        if not name.endswith(DELETE_DIRECTORY_SUFFIX) and (key := parse_partition_directory(name)) is not None
    }
    existing = sorted(known & topics.keys())
    if existing:
        raise ImportRefusedError(
            f"{directory} already has topic {', '.join(existing)}, and an import only creates new topics;"
            " --topic NAME imports under another name"
        )


def _refuse_missing(topics: Set[str]) -> None:
    """Raises ImportRefusedError for topics with configs but without rows, whose names are probably misspelt."""
    if topics:
        raise ImportRefusedError(f"--config names topic {', '.join(sorted(topics))}, but the input has no rows of it")


def _refuse_names(topics: Mapping[str, object], state: ExportedState) -> None:
    """Raises ImportRefusedError for invalid topic names, and for internal topics that are not in the state.

    Source: Kafka's Topic.validate.
    """
    for topic in topics:
        is_refused = topic in (".", "..") or (topic in RESERVED_TOPICS and topic not in state.topics)
        if is_refused or not _TOPIC_NAME.fullmatch(topic):
            raise ImportRefusedError(
                f"{topic!r} can't be the name of a topic: use up to 249 letters, digits, '.', '_' and '-', and no name"
                " of an internal topic"
            )


def _tasks(
    order: ImportOrder,
    state: ExportedState,
    known_ids: Set[bytes],
    topics: Mapping[str, Mapping[int, list[SpilledRows]]],
    unique: str,
) -> list[ImportTask]:
    tasks = []
    for topic, partitions in sorted(topics.items()):
        topic_id = state.topics[topic].topic_id if topic in state.topics else None
        if topic_id is None or topic_id in known_ids:
            topic_id = random_topic_id()
        segment_bytes = min(order.segment_bytes, INTERNAL_SEGMENT_BYTES if topic in INTERNAL_TOPICS else MOST_BYTES)
        for partition, spilled in sorted(partitions.items()):
            name = renamed_directory_name(topic, partition, unique, DELETE_DIRECTORY_SUFFIX)
            tasks.append(
                ImportTask(
                    topic,
                    partition,
                    order.directory / name,
                    tuple(spilled),
                    topic_id,
                    order.keeps_offsets,
                    order.compression,
                    segment_bytes,
                    order.batch_bytes,
                    order.sizes,
                    state.partitions.get((topic, partition)),
                )
            )
    return tasks


def _write_checkpoints(files: Files, directory: Path, written: Sequence[WrittenPartition]) -> None:
    """Sets recovery point and high watermark of the new logs to their end.

    The logs are durable; without a recovery point, a broker would read them completely when it starts.
    """
    for name in (RECOVERY_POINT_CHECKPOINT, REPLICATION_OFFSET_CHECKPOINT):
        offsets = read_offset_checkpoint(files, directory / name)
        offsets |= {(partition.topic, partition.partition): partition.log_end_offset for partition in written}
        write_offset_checkpoint(files, directory / name, offsets)
