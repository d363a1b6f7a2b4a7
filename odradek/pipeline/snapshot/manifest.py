"""The list of what a snapshot holds: `manifest.json`. Pure.

A snapshot is complete if it has this file, which is written last. Paths are relative: `0/orders-3/…` is a file of the
first log directory. In object storage `at` names the object with the bytes, which may belong to an earlier snapshot.
"""

import json
from typing import Any, NamedTuple

MANIFEST = "manifest.json"
FORMAT = 1


class SavedFile(NamedTuple):
    """A file of a snapshot: its path in it, its bytes, and the file that it was: inode, time of change in ns, and mode.

    `at`: the path of its bytes, relative to the folder of all snapshots; empty on a disk, where they are at `path`.
    """

    path: str
    size: int
    inode: int
    modified_ns: int
    mode: int = 0o644
    at: str = ""

    def is_of(self, size: int, inode: int, modified_ns: int) -> bool:
        """Whether the file that was saved is this one, unchanged."""
        return (self.size, self.inode, self.modified_ns) == (size, inode, modified_ns)


class SavedPartition(NamedTuple):
    """A partition of a snapshot: the number of its directory, its name, and its offsets at the instant of the cut."""

    directory: int
    name: str
    start: int
    end: int


class Manifest(NamedTuple):
    """What a snapshot holds. `directories`: the paths of the broker's log directories. `at_ms`: the instant, ms since
    1970."""

    at_ms: int
    node_id: int
    cluster_id: str
    directories: list[str]
    partitions: list[SavedPartition]
    files: list[SavedFile]

    @property
    def size(self) -> int:
        """The bytes of all files."""
        return sum(file.size for file in self.files)

    def encode(self) -> bytes:
        """The manifest as JSON."""
        return json.dumps({"format": FORMAT, **self._asdict()}).encode()


def decode_manifest(data: bytes, name: str) -> Manifest:
    """Reads a manifest. Raises ValueError, which names it, if it is damaged or from a later version."""
    try:
        fields: dict[str, Any] = json.loads(data)
        if fields.pop("format") != FORMAT:
            raise ValueError(f"{name}: this version of Odradek does not know the format of this snapshot")
        fields["partitions"] = [SavedPartition(*partition) for partition in fields["partitions"]]
        fields["files"] = [SavedFile(*file) for file in fields["files"]]
        return Manifest(**fields)
    except (LookupError, TypeError, AttributeError, json.JSONDecodeError) as error:
        raise ValueError(f"{name}: the manifest can't be read: {error}") from error
