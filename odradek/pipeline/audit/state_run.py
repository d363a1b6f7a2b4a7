"""One run of an audit with `--state`: its number, and the end of what the state keeps of removed partitions.

    DIR/run.json                                                 the number of the last complete run
    DIR/<name of the log directory>-<hash>/<partition>.<level>   the sums of a partition (state_file.py)

Owns: run.json. Source: docs/audit.md.
"""

import json
from collections.abc import Iterable, Sequence
from pathlib import Path

from odradek.protocol.common.wall_clock import clock_ms

from ..directories.file_access import is_local, list_directory, read_file
from ..directories.log_directories import PartitionDirectory
from .known_segments import folder_of
from .state_file import replace_file
from .tasks import LEVELS, StateOptions

RUN = "run.json"


def begin_run(root: Path, scrub_every: int = 0) -> StateOptions:
    """The options of the next run. Creates the folder on a disk. Raises OSError."""
    if is_local(root):
        root = root.absolute()
        root.mkdir(parents=True, exist_ok=True)
    try:
        run = int(json.loads(read_file(root / RUN))["run"])
    except FileNotFoundError:
        run = 0
    except (ValueError, KeyError, TypeError):
        run = 0  # damaged: it only decides which segments are read again next
    return StateOptions(root, run + 1, scrub_every, clock_ms())


def end_run(state: StateOptions, directories: Iterable[Path], partitions: Sequence[PartitionDirectory]) -> None:
    """Counts the run, and removes the sums of partitions that these log directories no longer have.

    `partitions`: all that they have. Raises OSError.
    """
    replace_file(state.root / RUN, json.dumps({"run": state.run}).encode())
    there = {(found.path.parent, found.name) for found in partitions}
    there |= {(found.path, found.name) for found in partitions}  # the directory of a partition was given
    for directory in directories:
        folder = folder_of(state.root, directory)
        if not folder.is_dir():
            continue
        for entry in list_directory(folder):
            name, _, level = entry.name.rpartition(".")
            if level in LEVELS and (directory, name) not in there:
                (folder / entry.name).unlink(missing_ok=True)
