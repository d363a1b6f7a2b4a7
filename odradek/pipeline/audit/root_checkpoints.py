"""The offset checkpoints in the root of a log directory, and findings for those that can't be read.

Never writes. Source: storage/files/checkpoints.py.
"""

from pathlib import Path
from typing import NamedTuple

from odradek.protocol.names.topics import TopicPartition
from odradek.storage.errors import CorruptCheckpointError
from odradek.storage.files.checkpoints import ROOT_CHECKPOINTS, read_offset_checkpoint
from odradek.storage.files.regular_files import fault_text

from ..directories.file_access import PathFiles, is_gone, is_unreadable
from .findings import Finding


class RootOffsets(NamedTuple):
    """The offsets by checkpoint and partition. A checkpoint that can't be read gives a finding and no offsets."""

    offsets: dict[str, dict[TopicPartition, int]]
    findings: list[Finding]

    def of_partition(self, key: TopicPartition) -> dict[str, int]:
        """The offset of a partition in each checkpoint that has the partition."""
        return {name: offsets[key] for name, offsets in self.offsets.items() if key in offsets}


def read_root_offsets(directory: Path) -> RootOffsets:
    """Reads the checkpoints. Raises OSError for errors that do not concern one file."""
    found = RootOffsets({}, [])
    for name in ROOT_CHECKPOINTS:
        path = directory / name
        found.offsets[name] = {}
        try:
            found.offsets[name] = read_offset_checkpoint(PathFiles(), path)
        except CorruptCheckpointError as error:
            found.findings.append(Finding("checkpoint-unreadable", "", -1, str(path), -1, -1, str(error)))
        except OSError as error:
            if is_gone(error) or not is_unreadable(error, path):
                raise
            found.findings.append(Finding("file-unreadable", "", -1, str(path), 0, -1, fault_text(error)))
    return found
