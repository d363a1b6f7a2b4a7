"""Writes the files of a newly formatted log directory, as Kafka's Formatter does.

    bootstrap.checkpoint     each directory: feature levels, SCRAM users
    __cluster_metadata-0/00000000000000000000-0000000000.checkpoint
                             with --standalone: kraft.version 1, the voter
    meta.properties          each directory; written last: with it the directory counts as formatted

Owns: the content of the files and the order of writing. Never does: reading options. Invariant: after an interrupted
format, a directory counts as not formatted. Source: Kafka's Formatter, BootstrapDirectory; KIP-853.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path

from odradek.protocol.codec import encode
from odradek.protocol.internal_records.metadata_serde import encode_record
from odradek.protocol.messages.metadata_records import FeatureLevelRecord
from odradek.protocol.messages.snapshots import SnapshotFooterRecord, SnapshotHeaderRecord
from odradek.protocol.messages.structure import Message
from odradek.protocol.names.internal_topics import METADATA_TOPIC
from odradek.protocol.records.builder import BatchBuilder
from odradek.protocol.records.control import ControlRecordType, encode_control_batch
from odradek.storage.files.file_names import partition_directory_name
from odradek.storage.files.files import Files
from odradek.storage.files.meta_properties import MetaProperties, write_meta_properties

from ..metadata.image.features import METADATA_VERSION, record_version
from ..metadata.log.format import bootstrap_checkpoint

BOOTSTRAP = "bootstrap.checkpoint"
FIRST_CHECKPOINT = f"{0:020d}-{0:010d}.checkpoint"
READ_ONLY_MODE = 0o444


def feature_records(features: Mapping[str, int]) -> list[Message]:
    """The records of feature levels: metadata.version first, then the others by name. A level of 0 has no record."""
    names = [METADATA_VERSION, *sorted(features.keys() - {METADATA_VERSION})]
    return [FeatureLevelRecord(name, features[name]) for name in names if features[name]]


def bootstrap_snapshot(records: Sequence[Message], metadata_version: int, now_ms: int) -> bytes:
    """The bytes of ``bootstrap.checkpoint``: the records that the cluster's first controller copies into the metadata
    log.
    """
    header = [(ControlRecordType.SNAPSHOT_HEADER, encode(SnapshotHeaderRecord(last_contained_log_timestamp=0), 0))]
    builder = BatchBuilder(base_offset=1, partition_leader_epoch=0)
    for record in records:
        builder.append(now_ms, None, encode_record(record, record_version(record, metadata_version)))
    footer = [(ControlRecordType.SNAPSHOT_FOOTER, encode(SnapshotFooterRecord(), 0))]
    after = builder.last_offset + 1
    return b"".join(
        [
            encode_control_batch(header, timestamp=now_ms, base_offset=0, partition_leader_epoch=0),
            builder.build(),
            encode_control_batch(footer, timestamp=now_ms, base_offset=after, partition_leader_epoch=0),
        ]
    )


def format_directory(
    files: Files,
    directory: Path,
    meta: MetaProperties,
    bootstrap: bytes,
    voter_endpoint: tuple[str, str, int] | None,
    now_ms: int,
) -> None:
    """Formats one directory. ``voter_endpoint``: (listener, host, port) of this node if the directory keeps the
    metadata log of a dynamic quorum, which has this node as only voter; else None.

    Raises OSError; the directory then counts as not formatted.
    """
    files.make_directory(directory)
    files.write_file(directory / BOOTSTRAP, bootstrap)
    if voter_endpoint is not None:
        partition = directory / partition_directory_name(METADATA_TOPIC, 0)
        files.make_directory(partition)
        path = partition / FIRST_CHECKPOINT
        files.write_file(path, bootstrap_checkpoint(meta.node_id, meta.directory_id, voter_endpoint, now_ms))
        files.set_mode(path, READ_ONLY_MODE)
    write_meta_properties(files, directory, meta)
