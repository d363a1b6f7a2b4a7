"""A producer snapshot may have a transaction that is not in a compacted log, because compaction removes batches."""

from pathlib import Path

import pytest

from odradek.pipeline.audit.job import audit_directories
from odradek.pipeline.engine.engines import LOCAL
from odradek.storage.producers.producer_snapshots import decode_snapshot, encode_snapshot
from support.pipeline.audited_directory import NOW_MS, AuditedDirectory

from .audit_injections import COMPACT


@pytest.mark.parametrize(
    ("configs", "is_found"), [({}, True), (COMPACT, False), ({"cleanup.policy": "compact,delete"}, False)], ids=str
)
def test_a_transaction_that_only_the_snapshot_shows(tmp_path: Path, configs: dict[str, str], is_found: bool) -> None:
    directory = AuditedDirectory(tmp_path / "logs", configs)
    path = directory.segment(1, ".snapshot")
    entries = decode_snapshot(path.read_bytes())
    entry = next(entry for entry in entries if entry.batches and entry.transaction_first_offset is None)
    entry.transaction_first_offset = entry.last_offset
    path.write_bytes(encode_snapshot(entries))
    result = audit_directories([directory.root], LOCAL, now_ms=NOW_MS)
    found = [finding.detail for finding in result.findings if finding.name == "producer-snapshot-mismatch"]
    opened = f"it has an open transaction from offset {entry.last_offset}"
    lost = f"producer {entry.producer_id}: {opened}, but the log has none"
    assert found == ([lost] if is_found else [])
