"""``odradek storage repair``: repairs damage as a broker does when it starts; with ``--dry-run`` it only reports.

The log loader repairs (storage/log/log_loader.py): it finishes interrupted operations, checks each log from its
recovery point on, truncates it at the first damage, and rebuilds indexes, producer snapshots and leader epochs. This
command also rebuilds damaged indexes before the recovery point. A dry run works on an overlay in memory, and shows its
changes.
"""

import logging
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import click

from odradek.protocol.common.command_options import arguments, flag, option, takes
from odradek.protocol.common.wall_clock import clock_ms
from odradek.protocol.errors import KafkaError
from odradek.protocol.names.topics import METADATA_TOPIC
from odradek.storage.check.command import run
from odradek.storage.check.directory_check import partition_tasks
from odradek.storage.check.findings import CheckSeverity
from odradek.storage.check.partition_check import check_partition
from odradek.storage.directory.log_directory import LogDirectory
from odradek.storage.errors import StorageError
from odradek.storage.files.file_names import (
    LEADER_EPOCH_CHECKPOINT,
    OFFSET_INDEX_SUFFIX,
    SNAPSHOT_SUFFIX,
    TIME_INDEX_SUFFIX,
    base_offset_of,
)
from odradek.storage.files.files import Files
from odradek.storage.files.meta_properties import CLEAN_SHUTDOWN_FILE, read_meta_properties
from odradek.storage.files.overlay_files import Change, OverlayFiles
from odradek.storage.log.log import Log

from ..config.server_config import ServerConfig
from ..config.topic_config import log_config_for
from ..metadata.image.image import MetadataCorruption, MetadataImage, ResourceType
from ..metadata.log.log_reader import MetadataLogError
from ..server.dynamic_configs import config_under
from .configuration import all_directories, load_configuration
from .offline import load_image

REBUILT = (OFFSET_INDEX_SUFFIX, TIME_INDEX_SUFFIX, SNAPSHOT_SUFFIX)
"""Files that are removed if damaged, and then rebuilt. A transaction index is not among them: if it were removed, no
transaction would count as aborted. The loader recovers its segment instead.
"""
WRITTEN_BY_STARTS = (*REBUILT, LEADER_EPOCH_CHECKPOINT)


@dataclass(frozen=True, kw_only=True)
class RepairOptions:
    """The arguments of ``odradek storage repair``."""

    directories: tuple[Path, ...] = arguments(metavar="[DIR]...", type=click.Path(path_type=Path))
    path: Path | None = option(
        "-c", "--config", type=click.Path(path_type=Path), help="The broker's configuration file."
    )
    dry_run: bool = flag("--dry-run", help="Change nothing, only show the changes.")
    from_start: bool = flag(
        "--from-start",
        help="Check all records, also those that were synced long ago, and cut each log at its first damage. All later"
        " records of that partition are lost: use --dry-run first.",
    )


def repair(command_line: list[str]) -> int:
    """Entry point: takes the arguments after ``odradek storage repair``, returns the exit code."""
    return run(command, "odradek storage repair", command_line)


@click.command(
    help="Repair damage as a start does: complete interrupted operations, cut torn ends after the recovery points,"
    " rebuild indexes, snapshots and epochs. The broker must be stopped. --dry-run only shows the changes.",
    context_settings={"help_option_names": ["-h", "--help"]},
)
@takes(RepairOptions)
def command(options: RepairOptions) -> int:
    """Repairs the log directories, or shows the changes with ``dry_run``. Returns the exit code."""
    config = ServerConfig.load() if options.path is None else load_configuration(options.path)
    chosen = list(options.directories) or (all_directories(config) if options.path is not None else [])
    if not chosen:
        raise click.UsageError("name the log directories, or --config")
    for directory in chosen:
        if not directory.is_dir() or read_meta_properties(Files(), directory) is None:
            raise click.ClickException(
                f"{directory} is not a formatted log directory; name the directories of log.dirs"
            )
    files = OverlayFiles() if options.dry_run else Files()
    printer = _WarningPrinter()
    clean = {_absolute(directory) for directory in chosen if (directory / CLEAN_SHUTDOWN_FILE).exists()}
    logging.getLogger("odradek.storage").addHandler(printer)
    try:
        image = MetadataImage()
        for directory in chosen:
            image = _repair_directory(directory, files, config, image, printer.show, from_start=options.from_start)
    except (KafkaError, MetadataLogError, MetadataCorruption) as problem:
        raise click.ClickException(str(problem)) from problem
    finally:
        logging.getLogger("odradek.storage").removeHandler(printer)
    if isinstance(files, OverlayFiles):
        left_well = clean if printer.is_silent else set()
        changes = [change for change in files.changes() if _is_repair(change, chosen, left_well)]
        for change in changes:
            click.echo(f"would {change.kind} {change.path}" + (f": {change.detail}" if change.detail else ""))
        click.echo(f"{len(changes)} files would change; nothing was changed" if changes else "nothing to repair")
    return 0


class _WarningPrinter(logging.Handler):
    """Prints the warnings of the log loader: they give the reasons for its changes."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.is_silent = True

    def emit(self, record: logging.LogRecord) -> None:
        """Prints a warning of the loader."""
        self.show(record.getMessage())

    def show(self, text: str) -> None:
        """Prints a line about damage."""
        self.is_silent = False
        click.echo(text)


def _absolute(path: Path) -> Path:
    """An absolute path without `..`, the form of paths in the overlay."""
    return Path(os.path.abspath(path))


def _is_repair(change: Change, directories: list[Path], left_well: set[Path]) -> bool:
    """Whether a change is a repair, not one that every start makes.

    Every start and stop writes the files in the root of a log directory: checkpoints, the clean shutdown marker, the
    lock. In the partitions of a cleanly stopped, undamaged directory (``left_well``) a normal start also removes the
    producer snapshot of the last stop and leader epochs without a record (LogLoader.load), and rewrites indexes at the
    end of the metadata log.
    """
    roots = {_absolute(directory) for directory in directories}
    if change.path.parent in roots:
        return "directory" in change.kind
    return change.path.parent.parent not in left_well or not change.path.name.endswith(WRITTEN_BY_STARTS)


def _repair_directory(
    path: Path,
    files: Files,
    config: ServerConfig,
    image: MetadataImage,
    show: Callable[[str], None],
    *,
    from_start: bool,
) -> MetadataImage:
    """Repairs one directory, and reports the damage. Returns the cluster metadata of this directory, or ``image`` if it
    has none: the directories after it need the topic configs in it.
    """
    damaged = list(_damaged_small_files(path))
    directory = LogDirectory.open(path, files)
    try:
        assert directory.meta is not None
        for file in damaged:
            show(f"{file}: damaged; rebuilding it from the log")
            files.remove(file)
        if from_start:
            directory.distrust()
        if (path / f"{METADATA_TOPIC}-0").is_dir():
            image = load_image(directory, config, clock_ms())
        effective = config_under(image, config, directory.meta.node_id)
        known = image
        directory.load_logs(
            lambda topic: log_config_for(effective, known.config_of(ResourceType.TOPIC, topic)), clock_ms()
        )
        for file in damaged:
            _rebuild(directory, file)
        if isinstance(files, OverlayFiles):
            _save_all(directory)
        else:
            directory.close(directory.previous_broker_epoch)
    finally:
        directory.abort()
    return image


def _damaged_small_files(path: Path) -> Iterator[Path]:
    """The indexes and producer snapshots that are damaged or contradict the log."""
    for task in partition_tasks(path, is_deep=False):
        if task.is_running:
            continue  # a broker runs: either the lock will be refused, or a dry run ignores files that change now
        seen = set()
        for problem in check_partition(task).problems:
            file = Path(problem.file)
            is_damaged = problem.severity is CheckSeverity.ERROR or file.suffix == SNAPSHOT_SUFFIX
            if is_damaged and file.suffix in REBUILT and file not in seen:
                seen.add(file)
                yield file


def _rebuild(directory: LogDirectory, file: Path) -> None:
    """Rebuilds an index that was removed, and writes it. Producer snapshots are rebuilt by the loader."""
    offset = base_offset_of(file.name)
    log = next((log for log in directory.logs.values() if log.directory == file.parent), None)
    segment = None if log is None or offset is None else log.segments.floor(offset)
    if segment is not None and file.suffix != SNAPSHOT_SUFFIX:
        assert segment.indexes.offset is not None
        assert segment.indexes.time is not None
        segment.indexes.save()


def _save_all(directory: LogDirectory) -> None:
    """Writes the files that a stop writes into the partition directories (into the overlay)."""
    for log in directory.logs.values():
        _save(log)


def _save(log: Log) -> None:
    try:
        log.prepare_close()
        if log.flusher.is_dirty:
            log.flusher.flush()
    except StorageError as problem:
        click.echo(str(problem))
