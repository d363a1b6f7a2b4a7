"""The names of files and directories in a log directory.

Pure. `<topic>-<partition>/` holds `%020d.log`, `.index`, `.timeindex`, `.txnindex` and `.snapshot`. A second suffix
marks an unfinished operation. Source: Kafka's LogFileUtils, LocalLog.parseTopicPartitionName.
"""

from pathlib import Path

LOG_SUFFIX = ".log"
OFFSET_INDEX_SUFFIX = ".index"
TIME_INDEX_SUFFIX = ".timeindex"
TRANSACTION_INDEX_SUFFIX = ".txnindex"
SNAPSHOT_SUFFIX = ".snapshot"
INDEX_SUFFIXES = (OFFSET_INDEX_SUFFIX, TIME_INDEX_SUFFIX, TRANSACTION_INDEX_SUFFIX)
SEGMENT_SUFFIXES = (LOG_SUFFIX, *INDEX_SUFFIXES)

DELETED_SUFFIX = ".deleted"  # renamed, to be removed after file.delete.delay.ms
CLEANED_SUFFIX = ".cleaned"  # being written by the cleaner: worthless after a crash
SWAP_SUFFIX = ".swap"  # written whole by the cleaner: replaces the segments it covers
SNAPSHOT_DELETED_SUFFIX = ".checkpoint.deleted"  # a KRaft snapshot, which is not part of a log

DELETE_DIRECTORY_SUFFIX = "-delete"
FUTURE_DIRECTORY_SUFFIX = "-future"
STRAY_DIRECTORY_SUFFIX = "-stray"

LEADER_EPOCH_CHECKPOINT = "leader-epoch-checkpoint"
PARTITION_METADATA = "partition.metadata"

MAX_NAME_LENGTH = 255


def segment_path(directory: Path, base_offset: int, suffix: str) -> Path:
    """The path of one of a segment's files, or of the producer snapshot at an offset."""
    return directory / f"{base_offset:020d}{suffix}"


def base_offset_of(name: str) -> int | None:
    """The offset in a file's name; None if the name does not begin with one."""
    digits = name.partition(".")[0]
    return int(digits) if digits.isascii() and digits.isdigit() else None


def partition_directory_name(topic: str, partition: int) -> str:
    """The directory of a partition."""
    return f"{topic}-{partition}"


def parse_partition_directory(name: str) -> tuple[str, int] | None:
    """(topic, partition) of a directory's name; None if it is not a partition's directory.

    In names with a suffix (`-delete`, `-future`, `-stray`), the part before the unique id is parsed.
    """
    if name.endswith((DELETE_DIRECTORY_SUFFIX, FUTURE_DIRECTORY_SUFFIX, STRAY_DIRECTORY_SUFFIX)):
        name, dot, _ = name.rpartition(".")
        if not dot:
            return None
    topic, dash, partition = name.rpartition("-")
    if not dash or not topic or not (partition.isascii() and partition.isdigit()):
        return None
    return topic, int(partition)


def renamed_directory_name(topic: str, partition: int, unique: str, suffix: str) -> str:
    """The name of a deleted or stray partition's directory: `<topic>-<partition>.<unique><suffix>`.

    The topic's name is cut at its end to fit the file system's limit, as Kafka does for `-delete`.
    """
    rest = f"-{partition}.{unique}{suffix}"
    return topic[: MAX_NAME_LENGTH - len(rest)] + rest
