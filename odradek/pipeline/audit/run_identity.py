"""Which run of an audit a row belongs to, and which broker of which cluster it is about.

Reads meta.properties of the log directories at the beginning of a run, and does no other I/O. Source: docs/audit.md.
"""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from odradek.protocol.common.wall_clock import clock_ms
from odradek.storage.errors import CorruptCheckpointError
from odradek.storage.files.meta_properties import read_meta_properties

from ..directories.file_access import PathFiles


class DirectoryOwner(NamedTuple):
    """The cluster id and the node id in `meta.properties`."""

    cluster_id: str | None
    node_id: int | None


def broker_of(directory: Path) -> DirectoryOwner:
    """The owner of a log directory. Both ids are None if `meta.properties` is missing or unreadable."""
    try:
        meta = read_meta_properties(PathFiles(), directory)
    except (CorruptCheckpointError, OSError):
        meta = None
    return DirectoryOwner(None, None) if meta is None else DirectoryOwner(meta.cluster_id, meta.node_id)


class RunIdentity(NamedTuple):
    """One run of an audit. `run`: its id. `time_ms`: when it began. `owners`: by log directory, in their order."""

    run: str
    time_ms: int
    owners: Mapping[str, DirectoryOwner]

    def owner_of(self, path: str) -> DirectoryOwner:
        """The owner of the log directory that has the path; `common_owner` if none has it."""
        inside = [directory for directory in self.owners if is_in(path, directory)]
        return self.owners[max(inside, key=len)] if inside else self.common_owner()

    def common_owner(self) -> DirectoryOwner:
        """The cluster and the broker of all directories; None for what is not the same in all of them."""
        clusters = {owner.cluster_id for owner in self.owners.values()}
        brokers = {owner.node_id for owner in self.owners.values()} if len(clusters) == 1 else set()
        return DirectoryOwner(
            clusters.pop() if len(clusters) == 1 else None, brokers.pop() if len(brokers) == 1 else None
        )


class RunEnd(NamedTuple):
    """The end of a run. `command`: as it was typed. `seconds`: that it took. `exit_code`: that of the command."""

    command: str
    seconds: float
    exit_code: int


class RunTables(NamedTuple):
    """Where the tasks of a run write their rows (report/table_files.py)."""

    directory: Path
    run: RunIdentity


def begin_identity(directories: Sequence[Path]) -> RunIdentity:
    """The identity of a run that begins now. Its id is unique."""
    time_ms = clock_ms()
    owners = {str(directory): broker_of(directory) for directory in directories}
    return RunIdentity(f"run-{time_ms}-{os.urandom(4).hex()}", time_ms, owners)


def is_in(path: str, directory: str) -> bool:
    """Whether a path is that of a directory or of something in it."""
    return path == directory or path.startswith(directory.rstrip("/") + "/")
