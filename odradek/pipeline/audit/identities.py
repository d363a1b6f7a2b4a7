"""Reads to which cluster and broker a log directory belongs, and to which topic id a partition's directory.

A file that cannot be read gives None; the audit of its directory reports it.
"""

from pathlib import Path
from typing import NamedTuple

from odradek.storage.errors import CorruptCheckpointError
from odradek.storage.files.meta_properties import read_meta_properties, read_partition_metadata

from ..directories.file_access import PathFiles


class DirectoryOwner(NamedTuple):
    """The cluster id and the node id in `meta.properties`."""

    cluster_id: str | None
    node_id: int | None


def broker_of(directory: Path) -> DirectoryOwner:
    """The owner of a log directory."""
    try:
        meta = read_meta_properties(PathFiles(), directory)
    except (CorruptCheckpointError, OSError):
        meta = None
    return DirectoryOwner(None, None) if meta is None else DirectoryOwner(meta.cluster_id, meta.node_id)


def topic_id_of(partition: Path) -> bytes | None:
    """The topic id in `partition.metadata`."""
    try:
        return read_partition_metadata(PathFiles(), partition)
    except (CorruptCheckpointError, OSError):
        return None
