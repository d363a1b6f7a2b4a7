"""The metadata records in a stopped broker's directory, read from its files."""

from pathlib import Path

from odradek.broker.metadata.log_reader import plain_records
from odradek.protocol.messages.structure import Message


def metadata_records(log_dir: Path) -> list[tuple[Message, int]]:
    """Every record of the log's segments, in order, each with its version; NoOps are left out."""
    return [
        (record.message, record.version)
        for path in sorted((log_dir / "__cluster_metadata-0").glob("*.log"))
        for record in plain_records(path.read_bytes(), path)
    ]
