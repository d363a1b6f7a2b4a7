"""Reads the metadata log of a log directory: ``__cluster_metadata-0``, the newest snapshot and the log after it.

Never writes. A directory without a metadata log is not an error: its metadata is unknown. Imports metadata_replay.py
only if there is one, because that takes a fifth of the time of an audit's imports.
"""

from pathlib import Path

from odradek.protocol.common.lazy_imports import lazy_imports
from odradek.protocol.names.topics import METADATA_TOPIC
from odradek.storage.files.file_names import LOG_SUFFIX, base_offset_of
from odradek.storage.files.meta_properties import CLEAN_SHUTDOWN_FILE

from .cluster_metadata import DirectoryMetadata
from .file_access import attempts, is_gone, list_directory

with lazy_imports:
    from . import metadata_replay

_SNAPSHOT_SUFFIX = ".checkpoint"


def read_cluster_metadata(log_directory: Path) -> DirectoryMetadata:
    """The metadata in a log directory, as far as it can be read. Raises OSError.

    If a running broker deletes a segment or snapshot meanwhile, lists the directory again.
    """
    for is_last in attempts():
        try:
            return _read(log_directory)
        except OSError as error:
            if is_last or not is_gone(error):
                raise
    raise AssertionError("the last attempt returns or raises")


def _read(log_directory: Path) -> DirectoryMetadata:
    metadata = DirectoryMetadata()
    directory = log_directory / f"{METADATA_TOPIC}-0"
    if not directory.is_dir():
        return metadata
    names = sorted(entry.name for entry in list_directory(directory))
    is_clean = (log_directory / CLEAN_SHUTDOWN_FILE).exists()
    replay = metadata_replay.MetadataReplay(metadata, directory, is_clean=is_clean)
    snapshots = [name for name in names if name.endswith(_SNAPSHOT_SUFFIX)]
    if snapshots:
        replay.read_snapshot(snapshots[-1])
    replay.read_log([name for name in names if name.endswith(LOG_SUFFIX) and base_offset_of(name) is not None])
    return metadata
