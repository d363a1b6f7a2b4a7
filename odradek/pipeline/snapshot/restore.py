"""Makes log directories from a snapshot: copies that a broker of Odradek or of Kafka opens as after a crash.

Shell. Owns: the new directories until they are complete. Invariants: a directory that has anything in it is not
touched. Each is made under the name `….restoring` and renamed when all are complete, that of the metadata last: a
restore that is killed leaves nothing that a broker could take for its data. Nothing is linked, so a broker that uses
the copy does not change the snapshot.
"""

import os
import shutil
from collections.abc import Sequence
from pathlib import Path

from odradek.protocol.names.topics import METADATA_TOPIC

from .broker_link import SnapshotError
from .manifest import MANIFEST, Manifest, SavedFile, decode_manifest
from .take import Progress

CHUNK_BYTES = 8 << 20
RESTORING = ".restoring"
MARK = ".odradek-restore"
"""A file in a directory that is being restored: what a killed restore has left may be removed."""


def read_snapshot(snapshot: Path) -> Manifest:
    """The manifest of a snapshot. Raises SnapshotError."""
    try:
        return decode_manifest((snapshot / MANIFEST).read_bytes(), str(snapshot))
    except FileNotFoundError:
        raise SnapshotError(f"{snapshot}: not a complete snapshot: it has no {MANIFEST}") from None
    except ValueError as error:
        raise SnapshotError(str(error)) from error


def restore(snapshot: Path, manifest: Manifest, targets: Sequence[Path], progress: Progress) -> None:
    """Copies each directory of a snapshot to a target, which is new or empty. Raises SnapshotError, OSError."""
    if len(targets) != len(manifest.directories):
        raise SnapshotError(
            f"{snapshot} has {len(manifest.directories)} log directories: name as many, in the order of"
            f" {', '.join(manifest.directories)}"
        )
    staging = [_begin(target) for target in targets]
    copied = 0
    for count, file in enumerate(manifest.files):
        number, _, name = file.path.partition("/")
        source = snapshot.parent / file.at if file.at else snapshot / file.path
        copied += _copy(source, staging[int(number)] / name, file)
        progress(count, len(manifest.files), copied)
    metadata = {partition.directory for partition in manifest.partitions if partition.name == f"{METADATA_TOPIC}-0"}
    os.sync()  # one for all: a sync of each of some ten thousand small files takes minutes
    for made in sorted(range(len(targets)), key=lambda index: index in metadata):
        _finish(staging[made], targets[made])
    os.sync()


def _begin(target: Path) -> Path:
    """An empty directory beside the target. Raises SnapshotError, OSError."""
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise SnapshotError(f"{target}: it has something in it; a restore makes new directories")
    if target.is_mount():
        raise SnapshotError(
            f"{target}: a restore ends with a rename, so it can't be a mount point; name a folder in it"
        )
    staging = target.with_name(target.name + RESTORING)
    if staging.exists():
        if not (staging / MARK).exists():
            raise SnapshotError(f"{staging}: it is not of a restore; move it away")
        shutil.rmtree(staging)
    staging.mkdir(parents=True)
    (staging / MARK).touch()
    return staging


def _copy(source: Path, target: Path, saved: SavedFile) -> int:
    """Copies a file. Returns its size. Raises SnapshotError if it has another one, OSError."""
    target.parent.mkdir(parents=True, exist_ok=True)
    with source.open("rb") as read, target.open("wb") as written:
        while data := read.read(CHUNK_BYTES):
            written.write(data)
        found = written.tell()
        os.fchmod(written.fileno(), saved.mode)
    if found != saved.size:
        raise SnapshotError(f"{source}: it has {found} bytes instead of {saved.size}: the snapshot is damaged")
    return found


def _finish(staging: Path, target: Path) -> None:
    """Gives a complete directory its name."""
    (staging / MARK).unlink()
    if target.exists():
        target.rmdir()
    staging.rename(target)
