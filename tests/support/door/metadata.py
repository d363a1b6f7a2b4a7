"""The metadata in a stopped broker's directory, read from its files."""

from pathlib import Path

from odradek.broker.metadata.log.log_reader import plain_records
from odradek.broker.metadata.log.snapshot_files import ids_in
from odradek.protocol.messages.structure import Message
from odradek.protocol.records.batch import iterate_headers
from odradek.storage.files.files import Files

METADATA = "__cluster_metadata-0"
SNAPSHOTS = {"metadata.log.max.record.bytes.between.snapshots": "1000"}
"""Configs of a broker that writes a snapshot soon after its start."""


def metadata_records(log_dir: Path) -> list[tuple[Message, int]]:
    """Every record of the log's segments in order, with its version, without NoOps."""
    return [
        (record.message, record.version)
        for path in sorted((log_dir / METADATA).glob("*.log"))
        for record in plain_records(path.read_bytes(), path)
    ]


def metadata_end_offset(log_dir: Path) -> int:
    """The end offset of the metadata log."""
    last = max((log_dir / METADATA).glob("*.log"))
    return max((header.next_offset for _, header in iterate_headers(last.read_bytes())), default=int(last.stem))


def latest_snapshot(log_dir: Path) -> int:
    """The end offset of the latest snapshot of the metadata."""
    return ids_in(log_dir / METADATA, Files())[-1].end_offset
