"""Writes the files of a newly formatted log directory, as Kafka's Formatter does.

From metadata.version 4.4-IV0 on, as Kafka 4.4:

    __cluster_metadata-0/00000000000000000000-0000000000.checkpoint
                             where the metadata log is: feature levels, SCRAM users, and with --standalone kraft.version
                             1 and the voter

Below, as Kafka 4.3, which reads no levels from there:

    bootstrap.checkpoint     each directory: feature levels, SCRAM users
    __cluster_metadata-0/00000000000000000000-0000000000.checkpoint
                             with --standalone: kraft.version 1, the voter

In both, meta.properties is written last: with it the directory counts as formatted.

Owns: the content of the files and the order of writing. Never does: reading options. Invariant: after an interrupted
format, a directory counts as not formatted. Source: Kafka's Formatter, BootstrapDirectory; KIP-853.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from odradek.protocol.codec import encode
from odradek.protocol.messages.snapshots import SnapshotHeaderRecord
from odradek.protocol.messages.structure import Message
from odradek.protocol.names.topics import METADATA_TOPIC
from odradek.protocol.records.control import ControlRecordType
from odradek.storage.files.file_names import partition_directory_name
from odradek.storage.files.files import Files
from odradek.storage.files.meta_properties import MetaProperties, write_meta_properties

from ..metadata.log.format import bootstrap_checkpoint, snapshot_of

BOOTSTRAP = "bootstrap.checkpoint"
FIRST_CHECKPOINT = f"{0:020d}-{0:010d}.checkpoint"
READ_ONLY_MODE = 0o400


def bootstrap_snapshot(records: Sequence[Message], now_ms: int) -> bytes:
    """The bytes of ``bootstrap.checkpoint``: the records that the cluster's first controller copies into the metadata
    log.
    """
    header = (ControlRecordType.SNAPSHOT_HEADER, encode(SnapshotHeaderRecord(last_contained_log_timestamp=0), 0))
    return snapshot_of([header], records, now_ms)


class MetadataFormat(NamedTuple):
    """What a directory with the metadata log gets.

    ``voter_endpoint``: (listener, host, port) of this node as the only voter of a dynamic quorum, None if the
    configuration names the voters. ``records``: those that a first checkpoint has since Kafka 4.4.
    """

    voter_endpoint: tuple[str, str, int] | None
    records: Sequence[Message] = ()


def format_directory(
    files: Files,
    directory: Path,
    meta: MetaProperties,
    bootstrap: bytes | None,
    metadata: MetadataFormat | None,
    now_ms: int,
) -> None:
    """Formats one directory. ``bootstrap``: the content of ``bootstrap.checkpoint``, None for none. ``metadata``: for
    the directory of the metadata log, None for others.

    Raises OSError; the directory then counts as not formatted.
    """
    files.make_directory(directory)
    if bootstrap is not None:
        files.write_file(directory / BOOTSTRAP, bootstrap)
    if metadata is not None:
        partition = directory / partition_directory_name(METADATA_TOPIC, 0)
        files.make_directory(partition)
        path = partition / FIRST_CHECKPOINT
        endpoint, records = metadata
        files.write_file(path, bootstrap_checkpoint(meta.node_id, meta.directory_id, endpoint, now_ms, records))
        files.set_mode(path, READ_ONLY_MODE)
    write_meta_properties(files, directory, meta)
