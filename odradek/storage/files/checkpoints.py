"""Checkpoint files: text lines with a version, the number of entries, then the entries.

    recovery-point-offset-checkpoint, log-start-offset-checkpoint, replication-offset-checkpoint,
    cleaner-offset-checkpoint        `<topic> <partition> <offset>` for each partition, in the root of a log directory
    leader-epoch-checkpoint          `<epoch> <start offset>` for each epoch, in a partition's directory

An empty or missing file means no entries: Kafka creates the files empty. A write replaces the whole file. Pure but for
the given file layer. Source: Kafka's CheckpointFile, OffsetCheckpointFile, LeaderEpochCheckpointFile.
"""

import io
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from odradek.protocol.names.topics import TopicPartition
from odradek.protocol.records.varint import MAX_INT32, MAX_INT64

from ..errors import CorruptCheckpointError
from .files import Files

RECOVERY_POINT_CHECKPOINT = "recovery-point-offset-checkpoint"
LOG_START_OFFSET_CHECKPOINT = "log-start-offset-checkpoint"
REPLICATION_OFFSET_CHECKPOINT = "replication-offset-checkpoint"
CLEANER_OFFSET_CHECKPOINT = "cleaner-offset-checkpoint"
ROOT_CHECKPOINTS = (
    RECOVERY_POINT_CHECKPOINT,
    LOG_START_OFFSET_CHECKPOINT,
    REPLICATION_OFFSET_CHECKPOINT,
    CLEANER_OFFSET_CHECKPOINT,
)
"""The files of offsets in the root of a log directory."""

VERSION = 0
TEXT_MAX = 100
"""Characters of a malformed number that an error shows."""


def read_offset_checkpoint(files: Files, path: Path) -> dict[TopicPartition, int]:
    """The offsets by (topic, partition). Raises CorruptCheckpointError, OSError."""
    offsets = {}
    for topic, partition, offset in _read_lines(files, path, 3):
        offsets[topic, _number(path, partition, MAX_INT32)] = _number(path, offset, MAX_INT64)
    return offsets


class RootCheckpoints(NamedTuple):
    """The offsets in each of :data:`ROOT_CHECKPOINTS`. A damaged file has no offsets; ``damage`` has its error."""

    offsets: dict[str, dict[TopicPartition, int]]
    damage: dict[str, CorruptCheckpointError]


def read_root_checkpoints(files: Files, directory: Path) -> RootCheckpoints:
    """The checkpoints of a log directory. Raises OSError."""
    found = RootCheckpoints({}, {})
    for name in ROOT_CHECKPOINTS:
        try:
            found.offsets[name] = read_offset_checkpoint(files, directory / name)
        except CorruptCheckpointError as damage:
            # As in Kafka: missing offsets count as 0, so recovery checks more, never less.
            found.offsets[name] = {}
            found.damage[name] = damage
    return found


def offset_checkpoint_text(offsets: Mapping[TopicPartition, int]) -> bytes:
    """The content of a checkpoint of offsets."""
    return _text([f"{topic} {partition} {offset}" for (topic, partition), offset in sorted(offsets.items())])


def write_offset_checkpoint(files: Files, path: Path, offsets: Mapping[TopicPartition, int]) -> None:
    """Replaces the file, durably. Raises OSError."""
    files.write_file(path, offset_checkpoint_text(offsets))


def read_epoch_checkpoint(files: Files, path: Path) -> list[tuple[int, int]]:
    """(epoch, start offset) of each line. Raises CorruptCheckpointError, OSError."""
    lines = _read_lines(files, path, 2)
    return [(_number(path, epoch, MAX_INT32), _number(path, start, MAX_INT64)) for epoch, start in lines]


def epoch_checkpoint_text(entries: Iterable[tuple[int, int]]) -> bytes:
    """The content of a `leader-epoch-checkpoint` with entries of (epoch, start offset)."""
    return _text([f"{epoch} {start_offset}" for epoch, start_offset in entries])


def write_epoch_checkpoint(files: Files, path: Path, entries: Iterable[tuple[int, int]], *, sync: bool) -> None:
    """Replaces the `leader-epoch-checkpoint` at `path` by entries of (epoch, start offset). Raises OSError."""
    files.write_file(path, epoch_checkpoint_text(entries), sync=sync)


def _text(lines: Sequence[str]) -> bytes:
    return "".join(f"{line}\n" for line in (str(VERSION), str(len(lines)), *lines)).encode()


def _read_lines(files: Files, path: Path, columns: int) -> list[list[str]]:
    try:
        text = files.read_file(path).decode()
    except FileNotFoundError:
        return []
    except UnicodeDecodeError as error:
        raise CorruptCheckpointError(f"{path}: {error}") from error
    # Lines as Java has them: str.splitlines knows further ends of lines, such as a vertical tab.
    lines = [line.removesuffix("\n") for line in io.StringIO(text, newline=None)]
    if not lines:
        return []
    if lines[0].strip() != str(VERSION):
        raise CorruptCheckpointError(f"{path}: unrecognized version {lines[0]!r} in checkpoint file")
    entries = [line.split() for line in lines[2:]]
    if len(lines) < 2 or _number(path, lines[1], MAX_INT32) != len(entries):
        raise CorruptCheckpointError(f"{path}: {len(entries)} entries, but the second line has another number")
    for entry in entries:
        if len(entry) != columns:
            raise CorruptCheckpointError(f"{path}: malformed line {' '.join(entry)!r}")
    return entries


def _number(path: Path, text: str, most: int) -> int:
    """A number from 0 to ``most``: Kafka writes no other offset, epoch, partition or count."""
    try:
        number = int(text)
    except ValueError:
        number = -1
    if not 0 <= number <= most:
        raise CorruptCheckpointError(f"{path}: {text[:TEXT_MAX]!r} is not a number from 0 to {most}")
    return number
