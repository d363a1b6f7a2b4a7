"""The check of a log directory: the files in its root, and the list of partitions to check.

Reads; never writes, never takes the lock. Source: Kafka's LogManager, MetaPropertiesEnsemble.
"""

from collections.abc import Iterator
from pathlib import Path

from ..directory.directory_lock import lock_holder
from ..dump import decoders
from ..dump.events import DumpFinding as DumpFinding
from ..dump.log_dump import BOOTSTRAP_SNAPSHOT, LogOptions, dump_log
from ..errors import CorruptCheckpointError
from ..files.checkpoints import LOG_START_OFFSET_CHECKPOINT, RECOVERY_POINT_CHECKPOINT, read_root_checkpoints
from ..files.file_names import (
    DELETE_DIRECTORY_SUFFIX,
    FUTURE_DIRECTORY_SUFFIX,
    STRAY_DIRECTORY_SUFFIX,
    parse_partition_directory,
)
from ..files.files import Files
from ..files.meta_properties import META_PROPERTIES, read_clean_shutdown, read_meta_properties
from .findings import CheckSeverity, Problem
from .partition_check import CheckTask


def check_root(directory: Path) -> list[Problem]:
    """The problems of the files in the root. Raises OSError."""
    files = Files()
    problems: list[Problem] = []
    try:
        if read_meta_properties(files, directory) is None:
            what = "missing: the directory was never formatted, or this is not a log directory"
            problems.append(Problem(CheckSeverity.ERROR, str(directory / META_PROPERTIES), None, what))
    except CorruptCheckpointError as damage:
        problems.append(Problem(CheckSeverity.ERROR, str(directory / META_PROPERTIES), None, str(damage)))
    for name, fault in read_root_checkpoints(files, directory).damage.items():
        what = f"{fault}; a broker uses 0 for its offsets"
        problems.append(Problem(CheckSeverity.ERROR, str(directory / name), None, what))
    bootstrap = directory / BOOTSTRAP_SNAPSHOT
    if bootstrap.exists():
        problems += [
            Problem(CheckSeverity.ERROR, str(bootstrap), event.position, event.what)
            for event in dump_log(bootstrap, LogOptions(True, decoders.metadata_record))
            if isinstance(event, DumpFinding) and event.is_corrupt
        ]
    problems += _odd_directories(directory)
    return problems


def _odd_directories(directory: Path) -> Iterator[Problem]:
    meanings = {
        DELETE_DIRECTORY_SUFFIX: "a deleted partition; it is removed after file.delete.delay.ms or at the next start",
        FUTURE_DIRECTORY_SUFFIX: "a replica that moves to this directory (AlterReplicaLogDirs); not checked",
        STRAY_DIRECTORY_SUFFIX: "a partition that is not in the metadata; not checked; remove it if you do not need it",
    }
    for entry in Files().list(directory):
        for suffix, what in meanings.items():
            if entry.name.endswith(suffix) and entry.is_dir():
                yield Problem(CheckSeverity.NOTE, entry.path, None, what)


def partition_tasks(directory: Path, *, is_deep: bool) -> list[CheckTask]:
    """The partitions of a directory, the largest first. Raises OSError."""
    files = Files()
    is_running = lock_holder(directory) is not None
    is_clean = read_clean_shutdown(files, directory) is not None
    checkpoints = read_root_checkpoints(files, directory).offsets  # check_root reports unreadable ones
    recovery_points = checkpoints[RECOVERY_POINT_CHECKPOINT]
    log_starts = checkpoints[LOG_START_OFFSET_CHECKPOINT]
    tasks = []
    for entry in files.list(directory):
        key = parse_partition_directory(entry.name)
        if key is None or not entry.is_dir() or entry.name.rpartition("-")[2] != str(key[1]):
            continue
        tasks.append(
            CheckTask(
                directory / entry.name,
                key[0],
                is_clean,
                is_running,
                is_deep,
                recovery_points.get(key, 0),
                log_starts.get(key, 0),
            )
        )
    return sorted(tasks, key=_size, reverse=True)


def _size(task: CheckTask) -> int:
    return sum(entry.stat().st_size for entry in Files().list(task.directory) if entry.is_file())
