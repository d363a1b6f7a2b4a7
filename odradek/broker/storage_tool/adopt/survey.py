"""Surveys the log directories of a dead broker. Only reads.

Owns: nothing. Never does: deciding (:mod:`.plan` does), writing. From each partition it reads only the batch headers of
the last segment and of the beginning of the first one; from internal topics also records. Reading a file ends at
damage; recovery finds the damage again when the log is opened. Source: LogManager.loadLogs, LeaderEpochFileCache.
"""

import errno
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from struct import Struct

from odradek.protocol.errors import KafkaError, ProtocolError
from odradek.protocol.messages.group_records import OffsetCommitKey, OffsetCommitValue
from odradek.protocol.messages.structure import ZERO_UUID
from odradek.protocol.names.topics import METADATA_TOPIC, OFFSETS_TOPIC, TRANSACTION_STATE_TOPIC
from odradek.protocol.records.batch import NO_PRODUCER_ID, BatchHeader
from odradek.protocol.records.errors import CorruptRecordError
from odradek.protocol.records.record import Record, iterate_records
from odradek.storage.directory.directory_contents import FoundLog, scan_directory
from odradek.storage.errors import CorruptCheckpointError, CorruptSnapshotError
from odradek.storage.files.checkpoints import (
    CLEANER_OFFSET_CHECKPOINT,
    ROOT_CHECKPOINTS,
    read_epoch_checkpoint,
    read_offset_checkpoint,
)
from odradek.storage.files.file_names import (
    FUTURE_DIRECTORY_SUFFIX,
    LEADER_EPOCH_CHECKPOINT,
    LOG_SUFFIX,
    SNAPSHOT_SUFFIX,
    STRAY_DIRECTORY_SUFFIX,
    base_offset_of,
    parse_partition_directory,
)
from odradek.storage.files.files import READ_ONLY, Files
from odradek.storage.files.meta_properties import META_PROPERTIES, parse_uuid, read_partition_metadata
from odradek.storage.files.regular_files import NotRegularFileError
from odradek.storage.producers.producer_snapshots import decode_snapshot
from odradek.storage.segment.batch_scan import scan_batches, scan_headers

from ...groups.records import decode_record
from .found import FoundDirectory, FoundIdentity, FoundPartition

FIRST_BATCHES = 1000
"""The number of batches at a partition's beginning that are checked for signs of compaction."""
INTERNAL_BYTES = 8 << 20
"""Bytes of each segment of an internal topic that are read for its keys."""
OFFSET_KEY_VERSIONS = range(16)
"""The versions of record keys that are read: in each, the group id or transactional id follows the version."""

_INT16 = Struct(">h")
_INT64 = Struct(">q")


@dataclass(slots=True)
class Survey:
    """The findings in all directories."""

    directories: list[FoundDirectory] = field(default_factory=list)
    committed_topic_ids: dict[str, bytes] = field(default_factory=dict)
    """Topic -> the latest topic id in committed offsets."""
    highest_producer_id: int = NO_PRODUCER_ID
    """The highest producer id in the last segments, producer snapshots and transaction states."""


def survey(paths: list[Path], files_for: Callable[[Path], Files]) -> Survey:
    """Surveys each directory.

    Raises OSError (NotRegularFileError for a FIFO, a device, a symbolic link out of the directory);
    CorruptCheckpointError if a file with an id (meta.properties, partition.metadata) is damaged.
    """
    result = Survey()
    for path in paths:
        result.directories.append(_directory(path, files_for(path), result))
    return result


def _refuse_links(files: Files, directory: Path) -> None:
    """Raises NotRegularFileError for a symbolic link to a target outside of the log directory.

    Recovery could truncate the target, and a broker would serve its bytes. Links inside the directory are followed.
    """
    root = os.path.realpath(directory)
    for entry in files.list(directory):
        is_partition = parse_partition_directory(entry.name) is not None
        if is_partition or entry.name in (META_PROPERTIES, *ROOT_CHECKPOINTS):
            _refuse_link(directory / entry.name, root)
        if is_partition and entry.is_dir():
            for inner in files.list(directory / entry.name):
                _refuse_link(directory / entry.name / inner.name, root)


def _refuse_link(path: Path, root: str) -> None:
    if os.path.islink(path) and not os.path.realpath(path).startswith(root + os.sep):
        raise NotRegularFileError(errno.ELOOP, "a symbolic link out of the log directory", str(path))


def _directory(path: Path, files: Files, result: Survey) -> FoundDirectory:
    _refuse_links(files, path)
    contents = scan_directory(files, path)
    names = [entry.name for entry in files.list(path) if entry.is_dir()]
    partitions = []
    for (topic, index), found in contents.partitions.items():
        partitions.append(_partition(files, topic, index, found, result))
    strays = []
    for name in names:
        key = parse_partition_directory(name) if name.endswith(STRAY_DIRECTORY_SUFFIX) else None
        if key is not None and key[0] != METADATA_TOPIC:
            found = FoundLog(path, name, read_partition_metadata(files, path / name))
            strays.append(_partition(files, *key, found, result))
    try:
        cleaned = {topic for topic, _ in read_offset_checkpoint(files, path / CLEANER_OFFSET_CHECKPOINT)}
    except CorruptCheckpointError:
        cleaned = set()  # a broker also treats everything as not cleaned then
    return FoundDirectory(
        path=str(path),
        identity=read_identity(files, path),
        has_metadata=f"{METADATA_TOPIC}-0" in names,
        partitions=tuple(partitions),
        cleaned=frozenset(cleaned),
        strays=tuple(strays),
        left_alone=tuple(name for name in names if name.endswith(FUTURE_DIRECTORY_SUFFIX)),
    )


def read_identity(files: Files, directory: Path) -> FoundIdentity | None:
    """Reads meta.properties of version 0 or 1; None without the file. Raises CorruptCheckpointError, OSError."""
    path = directory / META_PROPERTIES
    try:
        text = files.read_file(path).decode(errors="replace")
    except FileNotFoundError:
        return None
    said = {
        key.strip(): value.strip().replace("\\", "")
        for key, _, value in (line.partition("=") for line in text.splitlines() if not line.startswith("#"))
    }
    try:
        version = int(said.get("version", "0"))
        node_id = said.get("node.id", said.get("broker.id"))
        return FoundIdentity(
            version,
            said.get("cluster.id") or None,
            None if node_id is None else int(node_id),
            parse_uuid(said["directory.id"]) if "directory.id" in said else None,
        )
    except ValueError as error:
        raise CorruptCheckpointError(f"{path}: {error}; move the file away to adopt without it") from None


def _partition(files: Files, topic: str, index: int, found: FoundLog, result: Survey) -> FoundPartition:
    try:
        epochs = [epoch for epoch, _ in read_epoch_checkpoint(files, found.path / LEADER_EPOCH_CHECKPOINT)]
    except CorruptCheckpointError:
        epochs = []  # the batch headers have the epochs, too
    segments = sorted(
        found.path / entry.name
        for entry in files.list(found.path)
        if entry.name.endswith(LOG_SUFFIX) and base_offset_of(entry.name) is not None
    )
    keys: set[str] = set()
    has_gaps = False
    log_end_offset = max((base_offset_of(segment.name) or 0 for segment in segments), default=0)
    if segments:
        has_gaps = _has_gaps(islice(_headers(files, segments[0]), FIRST_BATCHES))
        for header in _headers(files, segments[-1]):
            epochs.append(header.partition_leader_epoch)
            log_end_offset = max(log_end_offset, header.next_offset)
            result.highest_producer_id = max(result.highest_producer_id, header.producer_id)
    if topic in (OFFSETS_TOPIC, TRANSACTION_STATE_TOPIC):
        for segment in segments:
            keys |= _keys(files, segment, topic, result)
    _learn_producers(files, found.path, result)
    return FoundPartition(
        str(found.path),
        topic,
        index,
        found.topic_id,
        max(epochs, default=-1),
        has_gaps,
        frozenset(keys),
        log_end_offset,
    )


def _headers(files: Files, segment: Path) -> Iterator[BatchHeader]:
    """The batch headers of a segment up to its end or to damage."""
    descriptor = files.open(segment, READ_ONLY)
    try:
        for _, header in scan_headers(files, descriptor, 0, files.size(descriptor)):
            yield header
    except CorruptRecordError:
        return
    finally:
        files.close(descriptor)


def _has_gaps(headers: Iterator[BatchHeader]) -> bool:
    """Whether offsets are missing between batches or within one, which only compaction causes.

    The first offset of a wrapper (message format 0 or 1) is unknown: no gap before or in it is found.
    """
    expected: int | None = None
    for header in headers:
        if header.is_wrapper:
            expected = header.next_offset
            continue
        if expected not in (None, header.base_offset) or header.records_count != header.last_offset_delta + 1:
            return True
        expected = header.next_offset
    return False


def _keys(files: Files, segment: Path, topic: str, result: Survey) -> set[str]:
    """The group ids or transactional ids in the records of a segment; adds topic ids and producer ids to ``result``."""
    keys: set[str] = set()
    for record in _records(files, segment):
        key = _hashed_key(record.key, topic)
        if key is not None:
            keys.add(key)
        if topic == OFFSETS_TOPIC and record.key is not None:
            _learn_topic_id(record.key, record.value, result)
        if topic == TRANSACTION_STATE_TOPIC and record.value is not None and len(record.value) >= 10:
            producer_id = _INT64.unpack_from(record.value, 2)[0]  # in every version, the producer id comes first
            result.highest_producer_id = max(result.highest_producer_id, producer_id)
    return keys


def _records(files: Files, segment: Path) -> Iterator[Record]:
    descriptor = files.open(segment, READ_ONLY)
    try:
        end = min(files.size(descriptor), INTERNAL_BYTES)
        for _, header, batch in scan_batches(files, descriptor, 0, end):
            if not header.is_control:
                yield from iterate_records(batch, header)
    except KafkaError:
        return  # torn or damaged: the records before are used
    finally:
        files.close(descriptor)


def _learn_topic_id(key: bytes, value: bytes | None, result: Survey) -> None:
    """Adds the topic id of a committed offset (since Kafka 4.2) to ``result``. If the topic got another id, the broker
    would ignore the offset.
    """
    try:
        record = decode_record(key, value)
    except ProtocolError:
        return  # the group coordinator logs it when it loads the record
    if (
        record is not None
        and isinstance(record.key, OffsetCommitKey)
        and isinstance(record.value, OffsetCommitValue)
        and record.value.topic_id != ZERO_UUID
    ):
        result.committed_topic_ids[record.key.topic] = record.value.topic_id


def _hashed_key(key: bytes | None, topic: str) -> str | None:
    """The group id or transactional id in a record key, whose hash chose the partition; None if there is none.

    Every such key begins with a version (int16) and this string with an int16 length.
    """
    if key is None or len(key) < 4 or _INT16.unpack_from(key)[0] not in OFFSET_KEY_VERSIONS:
        return None
    length = _INT16.unpack_from(key, 2)[0]
    if length < 0 or 4 + length > len(key):
        return None
    try:
        return key[4 : 4 + length].decode()
    except UnicodeDecodeError:
        return None


def _learn_producers(files: Files, directory: Path, result: Survey) -> None:
    """Adds the producer ids in a partition's snapshots to ``result``: new producers must get other ids."""
    for entry in files.list(directory):
        if entry.name.endswith(SNAPSHOT_SUFFIX):
            try:
                entries = decode_snapshot(files.read_file(directory / entry.name))
            except CorruptSnapshotError:
                continue  # the log has the same information
            known = (producer.producer_id for producer in entries)
            result.highest_producer_id = max(result.highest_producer_id, *known, NO_PRODUCER_ID)
