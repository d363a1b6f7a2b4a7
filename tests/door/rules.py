"""Apache Kafka's rules for a log directory, as one strict check: ``violations(log_dir, clean=True)``.

Reads all files and changes nothing. Yields one line, with the file's name, for each broken rule. If there is none, a
Kafka (4.4.0; 4.3.1 up to its own feature levels) can start on the directory and loses nothing. The rules for the
metadata log are in metadata_rules.py.
``clean``: the broker was stopped, not killed, so no operation may be incomplete.
"""

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from struct import Struct
from typing import NamedTuple

from crc32c import crc32c

from door.metadata_rules import (
    ANYWHERE,
    MetadataSeen,
    identity_violations,
    metadata_violations,
    read_directory_id,
    read_uuid,
)
from odradek.protocol.records.batch import BatchHeader
from odradek.storage.dump.segment_scan import Batch, LogFile

OFFSET_ENTRY, TIME_ENTRY, TRANSACTION_ENTRY = Struct(">ii"), Struct(">qi"), Struct(">hqqqq")
PRODUCER_HEADER, PRODUCER = Struct(">hIi"), Struct(">qhiqiqiq")
CHECKPOINTS = (
    "recovery-point-offset-checkpoint",
    "log-start-offset-checkpoint",
    "replication-offset-checkpoint",
    "cleaner-offset-checkpoint",
)
ROOT_FILES = re.compile(r"meta\.properties|\.lock|\.kafka_cleanshutdown|bootstrap\.checkpoint|\.odradek[\w.-]*")
PARTITION = re.compile(r"(?P<topic>.+)-(?P<index>\d+)")
AWAY = re.compile(r".+-\d+\.[0-9a-f]{32}-(delete|stray|future)")
SEGMENT = re.compile(r"(?P<base>\d{20})\.(log|index|timeindex|txnindex|snapshot)")
REMOVED = re.compile(r"\d{20}\.\w+\.deleted")
HALF_DONE = re.compile(r"\d{20}\.\w+\.(cleaned|swap)|.*\.tmp")
METADATA = "__cluster_metadata-0"

Key = tuple[str, int]


class Bounds(NamedTuple):
    """A partition's log start offset, log end offset and latest leader epoch."""

    start: int
    end: int
    epoch: int


def violations(log_dir: Path, *, clean: bool, others: Sequence[Path] = ()) -> list[str]:
    """The rules that a broker's directories break, one line each.

    ``log_dir``: the directory with the metadata log. ``others``: the broker's other log directories.
    """
    ids = [read_directory_id(path) for path in (log_dir, *others)]
    metadata = MetadataSeen(directory_ids=ids)
    found = metadata_violations(log_dir, metadata, clean=clean)
    for path, directory_id in zip((log_dir, *others), ids, strict=True):
        found += identity_violations(path, log_dir)
        found += root_violations(path, clean)
        found += _partitions(path, directory_id, metadata, clean)
    return found


def _partitions(log_dir: Path, directory_id: bytes, metadata: MetadataSeen, clean: bool) -> list[str]:
    found: list[str] = []
    bounds: dict[Key, Bounds] = {}
    starts, _ = read_offsets(log_dir / "log-start-offset-checkpoint")
    for path in sorted(log_dir.iterdir()):
        match = PARTITION.fullmatch(path.name)
        if path.is_dir() and match and path.name != METADATA:
            key = match["topic"], int(match["index"])
            lines, bounds[key] = partition_violations(path, clean, starts.get(key, 0))
            found += lines
            found += ownership_violations(path, key, bounds[key], metadata, directory_id, clean)
    return [*found, *checkpoint_violations(log_dir, bounds, clean)]


def root_violations(log_dir: Path, clean: bool) -> Iterator[str]:
    """The violations of files directly in a log directory."""
    for path in sorted(log_dir.iterdir()):
        name = path.name
        if path.is_dir():
            if not PARTITION.fullmatch(name) and not AWAY.fullmatch(name):
                yield f"{name}: a directory that is not a partition's: Kafka does not load such a log directory"
            if path.stat().st_mode & 0o700 != 0o700:
                yield f"{name}: its mode keeps its owner out"
        elif name not in CHECKPOINTS and not ROOT_FILES.fullmatch(name) and (clean or not HALF_DONE.fullmatch(name)):
            yield f"{name}: Kafka knows no such file"
    for name in ("meta.properties", *CHECKPOINTS[:3]):
        if not (log_dir / name).is_file() and (clean or name not in CHECKPOINTS):
            yield f"{name} is missing"
    if (log_dir / ".lock").is_file() and (log_dir / ".lock").stat().st_size:
        yield ".lock is not empty"
    if (log_dir / ".kafka_cleanshutdown").exists() != clean:
        yield f".kafka_cleanshutdown is {'missing' if clean else 'there, though the broker did not stop cleanly'}"


# A partition -----------------------------------------------------------------


def partition_violations(directory: Path, clean: bool, log_start_offset: int) -> tuple[list[str], Bounds]:
    """The violations in a partition's directory, and the bounds of its log."""
    name = directory.name
    found = list(_names(directory, clean))
    bases = sorted(int(path.stem) for path in directory.glob("*.log"))
    epochs, lines = read_pairs(directory / "leader-epoch-checkpoint")
    found += lines
    if not bases:
        return [*found, *([f"{name}: no segment"] if clean else [])], Bounds(0, 0, -1)
    end, epoch = bases[0], epochs[-1][0] if epochs else -1
    producers: dict[int, BatchHeader] = {}
    transactional = False
    for number, base in enumerate(bases):
        is_last = number == len(bases) - 1
        batches: list[tuple[int, BatchHeader]] = []
        for line in _batches(directory / f"{base:020d}.log", max(base, end), is_last and not clean, batches):
            found.append(f"{name}/{line}")
        for _, header in batches:
            end, epoch = header.last_offset + 1, max(epoch, header.partition_leader_epoch)
            transactional |= header.is_transactional
            # A producer whose records are all deleted is forgotten at the next start, also by Kafka.
            if header.producer_id >= 0 and not header.is_control and header.last_offset >= log_start_offset:
                producers[header.producer_id] = header
        found += [f"{name}/{line}" for line in _indexes(directory, base, batches, is_last and not clean)]
        found += [f"{name}: {line}" for line in _epochs(batches, epochs, clean)]
    end = max(end, bases[-1])
    found += [f"{name}/{line}" for line in _snapshots(directory, end, producers, clean, transactional)]
    if epochs and epochs[-1][1] > end:
        found.append(f"{name}: leader epoch {epochs[-1]} begins behind the log's end {end}")
    return found, Bounds(bases[0], end, epoch)


def _names(directory: Path, clean: bool) -> Iterator[str]:
    for path in sorted(directory.iterdir()):
        ours = path.name in ("partition.metadata", "leader-epoch-checkpoint") or SEGMENT.fullmatch(path.name)
        if not (ours or REMOVED.fullmatch(path.name) or (not clean and HALF_DONE.fullmatch(path.name))):
            yield f"{directory.name}/{path.name}: Kafka knows no such file"
        if path.stat().st_mode & 0o600 != 0o600:
            yield f"{directory.name}/{path.name}: its owner may not write it"


def _batches(path: Path, first: int, may_be_torn: bool, batches: list[tuple[int, BatchHeader]]) -> Iterator[str]:
    """Batches must be complete, valid, of format 2, and have rising offsets."""
    with LogFile(path) as log:
        for batch in log.batches():
            if not isinstance(batch, Batch):
                if not may_be_torn:
                    yield f"{path.name} at {batch.position}: {batch.expected}"
                return
            header = batch.header
            if not batch.is_valid:
                yield f"{path.name} at {batch.position}: wrong CRC"
            if header.base_offset < first:
                yield f"{path.name} at {batch.position}: offset {header.base_offset} after {first - 1}"
            if header.partition_leader_epoch < 0:
                yield f"{path.name} at {batch.position}: no leader epoch"
            first = header.last_offset + 1
            batches.append((batch.position, header))


def _epochs(batches: list[tuple[int, BatchHeader]], epochs: list[tuple[int, int]], clean: bool) -> Iterator[str]:
    """Each batch must have the leader epoch that the checkpoint has for its offset.

    The checkpoint of a killed broker may lack the latest epoch. The first epoch begins at the log start offset, which
    may be inside a segment."""
    starts = [start for _, start in epochs]
    for _, header in batches:
        if epochs and header.last_offset < starts[0]:
            continue
        slot = bisect_right(starts, header.last_offset) - 1
        known = epochs[slot][0] if slot >= 0 else None
        is_behind = (
            not clean and (known is None or slot == len(epochs) - 1) and header.partition_leader_epoch > (known or -1)
        )
        if known != header.partition_leader_epoch and not is_behind:
            yield f"batch {header.base_offset} is of epoch {header.partition_leader_epoch}, the checkpoint says {known}"
            return


def _indexes(directory: Path, base: int, batches: list[tuple[int, BatchHeader]], may_be_behind: bool) -> Iterator[str]:
    """Index entries must rise and name a batch, without preallocated space. The last time is the segment's maximum."""
    name = f"{base:020d}"
    by_last = {header.last_offset: (position, header) for position, header in batches}
    offsets, times = (
        _entries(directory / f"{name}.{kind}", entry)
        for kind, entry in (("index", OFFSET_ENTRY), ("timeindex", TIME_ENTRY))
    )
    for kind, entries in (("index", offsets), ("timeindex", times)):
        if entries is None and may_be_behind and not batches:
            return  # killed while the segment was being created
        if entries is None:
            yield f"{name}.{kind} is missing or no whole number of entries"
            return
    assert offsets is not None
    assert times is not None
    before: tuple[int, ...] = (-1, -1)
    for relative, position in offsets:
        if relative <= before[0] or position <= before[1]:
            yield f"{name}.index: {(relative, position)} after {before} (zeros: not trimmed)"
            return
        if by_last.get(base + relative, (None,))[0] != position:
            yield f"{name}.index: no batch ends with {base + relative} and begins at {position}"
        before = relative, position
    before = (-1, -1)
    for timestamp, relative in times:
        if timestamp <= before[0] or relative < before[1]:
            yield f"{name}.timeindex: {(timestamp, relative)} after {before} (zeros: not trimmed)"
            return
        so_far = max((h.max_timestamp for _, h in batches if h.last_offset <= base + relative), default=-1)
        if base + relative not in by_last or so_far != timestamp:
            yield f"{name}.timeindex: {timestamp} at {base + relative}, the greatest time up to there is {so_far}"
        before = timestamp, relative
    greatest = max((header.max_timestamp for _, header in batches), default=-1)
    if greatest >= 0 and not may_be_behind and (not times or times[-1][0] != greatest):
        yield f"{name}.timeindex does not end with the segment's greatest time {greatest}"
    if not may_be_behind and (directory / f"{name}.txnindex").exists():
        aborted = _entries(directory / f"{name}.txnindex", TRANSACTION_ENTRY)
        if not aborted or any(entry[0] != 0 or entry[3] not in by_last for entry in aborted):
            yield f"{name}.txnindex: {aborted}: empty, of another version, or without its marker in the segment"


def _entries(path: Path, entry: Struct) -> list[tuple[int, ...]] | None:
    if not path.is_file() or path.stat().st_size % entry.size:
        return None
    return list(entry.iter_unpack(path.read_bytes()))


def _snapshots(
    directory: Path, end: int, producers: dict[int, BatchHeader], clean: bool, transactional: bool
) -> Iterator[str]:
    """Snapshots must be valid and not beyond the log end. After a clean stop, the last must have every producer."""
    offsets = sorted(int(path.stem) for path in directory.glob("*.snapshot"))
    latest: dict[int, tuple[int, ...]] = {}
    for offset in offsets:
        data = (directory / f"{offset:020d}.snapshot").read_bytes()
        version, crc, count = PRODUCER_HEADER.unpack_from(data) if len(data) >= PRODUCER_HEADER.size else (0, 0, -1)
        if (version, crc, PRODUCER_HEADER.size + count * PRODUCER.size) != (1, crc32c(data[6:]), len(data)):
            yield f"{offset:020d}.snapshot: version, CRC or length is wrong"
            return
        if offset > end and clean:
            yield f"{offset:020d}.snapshot lies behind the log's end {end}"
        latest = {entry[0]: entry for entry in PRODUCER.iter_unpack(data[PRODUCER_HEADER.size :])}
    if not clean or not producers:
        return
    if not offsets or offsets[-1] != end:
        yield f"no snapshot at the log's end {end}, though there are producers"
        return
    for producer_id, header in producers.items():
        entry = latest.get(producer_id)
        if entry is None or (not transactional and entry[1:4] != _last_of(header)):
            yield f"{end:020d}.snapshot: producer {producer_id} is {entry}, its last batch says {_last_of(header)}"


def _last_of(header: BatchHeader) -> tuple[int, int, int]:
    last_sequence = (header.base_sequence + header.last_offset_delta) % (1 << 31)
    return header.producer_epoch, last_sequence, header.last_offset


def ownership_violations(
    path: Path, key: Key, bounds: Bounds, metadata: MetadataSeen, directory_id: bytes, clean: bool
) -> Iterator[str]:
    """A partition's directory must belong to a topic of the metadata, with its id, and no leader epoch beyond it.

    A broker may be killed after the record that removes a topic and before the directory is renamed. Kafka then renames
    it at its start.
    """
    topic, index = key
    file = path / "partition.metadata"
    if not file.is_file() and bounds.start == bounds.end and not clean:
        return  # killed while it was being created: nothing was acknowledged yet
    if not file.is_file():
        yield f"{path.name}: no partition.metadata: Kafka renames it to -stray and serves an empty log"
        return
    match = re.fullmatch(r"version: 0\ntopic_id: ([\w-]{22})", file.read_text())
    topic_id = metadata.topics.get(topic)
    if match is None:
        yield f"{path.name}/partition.metadata: {file.read_text()!r}"
    elif not clean and read_uuid(match[1]) in metadata.removed:
        return
    elif topic_id is None:
        yield f"{path.name}: the metadata knows no topic {topic}"
    elif read_uuid(match[1]) != topic_id:
        yield f"{path.name}: partition.metadata has another id than the metadata: Kafka takes it for a stray"
    elif (topic_id, index) not in metadata.leader_epochs:
        yield f"{path.name}: the metadata knows no partition {index} of {topic}"
    elif bounds.epoch > metadata.leader_epochs[topic_id, index]:
        epoch = metadata.leader_epochs[topic_id, index]
        yield f"{path.name}: the log's epoch {bounds.epoch} is ahead of the metadata's {epoch}: Kafka would truncate"
    elif metadata.directories.get((topic_id, index), ANYWHERE[0]) not in (directory_id, *ANYWHERE):
        yield f"{path.name}: the metadata says it lies in another directory: Kafka would not serve it"


# Checkpoints -----------------------------------------------------------------


def checkpoint_violations(log_dir: Path, bounds: dict[Key, Bounds], clean: bool) -> Iterator[str]:
    """Offset checkpoints must have the right format, existing partitions, and offsets within their logs.

    After a clean stop, every partition must have an entry.
    """
    for name in CHECKPOINTS:
        entries, lines = read_offsets(log_dir / name)
        yield from lines
        for key, offset in entries.items():
            if key not in bounds:
                # The partition was deleted later. Kafka removes its entry with the next checkpoint.
                if clean:
                    yield f"{name}: {key} has no directory"
            elif not bounds[key].start <= offset <= bounds[key].end and not (name != CHECKPOINTS[1] and offset == 0):
                yield f"{name}: {key} at {offset}, its log has {bounds[key].start} to {bounds[key].end}"
        if clean and name in (CHECKPOINTS[0], CHECKPOINTS[2]):
            for key, its in bounds.items():
                if entries.get(key) != its.end:
                    yield f"{name}: {key} at {entries.get(key)}, its log was closed at {its.end}"


def read_offsets(path: Path) -> tuple[dict[Key, int], list[str]]:
    """An offset checkpoint's offsets by partition, and its violations. An empty or missing file has neither."""
    rows, lines = _rows(path, r"([\w.-]+) (\d+) (\d+)")
    entries = {(topic, int(index)): int(offset) for topic, index, offset in rows}
    if len(entries) != len(rows):
        lines.append(f"{path.name}: a partition stands twice")
    if any(topic == "__cluster_metadata" for topic, _ in entries):
        lines.append(f"{path.name}: the metadata log is none of its business")
    return entries, lines


def read_pairs(path: Path) -> tuple[list[tuple[int, int]], list[str]]:
    """The (epoch, start offset) pairs of a leader-epoch-checkpoint, and its violations."""
    rows, lines = _rows(path, r"(\d+) (\d+)")
    pairs = [(int(epoch), int(start)) for epoch, start in rows]
    where = f"{path.parent.name}/{path.name}"
    for one, other in pairwise(pairs):
        if one[0] >= other[0] or one[1] >= other[1]:
            lines.append(f"{where}: {other} after {one}")
    return pairs, lines


def _rows(path: Path, pattern: str) -> tuple[list[tuple[str, ...]], list[str]]:
    if not path.is_file() or not path.stat().st_size:
        return [], []
    where = f"{path.parent.name}/{path.name}"
    text = path.read_text()
    head = re.match(r"0\n(\d+)\n", text)
    if head is None or not text.endswith("\n"):
        return [], [f"{where}: not version 0, a count and lines: {text[:60]!r}"]
    rows = text[head.end() :].splitlines()
    matches = [re.fullmatch(pattern, row) for row in rows]
    if len(rows) != int(head[1]) or None in matches:
        return [], [f"{where}: {head[1]} lines promised, {len(rows)} there, or one of another form"]
    return [match.groups() for match in matches if match], []
