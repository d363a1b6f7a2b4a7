"""An audit names causes, not their consequences, orders them by harm, and advises nothing that destroys evidence."""

import os
from pathlib import Path

from odradek.pipeline.audit.causes import folded
from odradek.pipeline.audit.check import Harm, Severity
from odradek.pipeline.audit.findings import CHECKS, Finding
from odradek.pipeline.audit.job import audit_directories
from odradek.pipeline.audit.report.figures import kinds_of_findings
from odradek.pipeline.engine.engines import LOCAL
from support.pipeline.audited_directory import NOW_MS, AuditedDirectory

from .damaged_starts import a_batch_without_its_bit, an_abort_that_became_a_commit


def serious(directory: AuditedDirectory) -> list[Finding]:
    result = audit_directories([directory.root], LOCAL, now_ms=NOW_MS)
    return [found for found in result.findings if found.check.severity is not Severity.INFO]


def test_a_log_that_cannot_be_read_is_one_finding(tmp_path: Path) -> None:
    directory = AuditedDirectory(tmp_path / "logs")
    path = directory.segment()
    path.unlink()
    os.mkfifo(path)
    [found] = serious(directory)
    assert (found.name, found.file) == ("file-unreadable", str(path))


def test_a_batch_with_an_impossible_length_is_one_finding(tmp_path: Path) -> None:
    """Its batches are skipped up to the next entry of the index: offsets and sequences have gaps there."""
    directory = AuditedDirectory(tmp_path / "logs")
    data = bytearray(directory.segment().read_bytes())
    position = list(directory.places())[30][0]
    data[position + 8 : position + 12] = b"\xff\xff\xff\xff"
    directory.segment().write_bytes(data)
    [found] = serious(directory)
    assert (found.name, found.position) == ("batch-length-invalid", position)
    assert "(from this follow: " in found.detail


def test_a_lost_bit_explains_the_transaction_index(tmp_path: Path) -> None:
    directory = AuditedDirectory(tmp_path / "logs")
    a_batch_without_its_bit(directory)
    assert {found.name for found in serious(directory)} == {"transactional-bit-lost"}


def test_an_abort_that_became_a_commit_keeps_the_evidence(tmp_path: Path) -> None:
    directory = AuditedDirectory(tmp_path / "logs")
    an_abort_that_became_a_commit(directory)
    [found] = serious(directory)
    assert found.name == "transaction-outcome-contradicted"
    assert found.check.action.startswith("Keep both files")


def finding(name: str, file: str = "/d/t-0/00000000000000000000.log", occurrences: int = 1) -> Finding:
    return Finding(name, "t", 0, file, 0, 0, "x", occurrences)


def test_consequences_are_folded_within_their_segment() -> None:
    there, other = (f"/d/t-0/{base:020d}.index" for base in (0, 7))
    cause = finding("batch-length-invalid")
    found = [finding("offset-index-mismatch", there, 20), cause, finding("offset-index-mismatch", other)]
    assert folded(found) == [cause._replace(detail="x (from this follow: 20 offset-index-mismatch)"), found[2]]
    assert folded(found[::2]) == found[::2]


def test_findings_are_ordered_by_harm_and_not_by_count() -> None:
    names = ["offset-index-mismatch", "batch-crc-mismatch", "swap-loses-records", "directory-name-invalid"]
    kinds = kinds_of_findings([finding(name, occurrences=9**number) for number, name in enumerate(names[::-1])])
    assert [kind.name for kind in kinds] == names[::-1]
    harms = [CHECKS[kind.name].harm for kind in kinds]
    assert harms == [Harm.NO_START, Harm.NEXT_START, Harm.READERS, Harm.LATER]


def test_the_first_action_of_an_error_deletes_nothing() -> None:
    errors = {name: check.action for name, check in CHECKS.items() if check.severity is Severity.ERROR}
    assert [name for name, action in errors.items() if action.lower().startswith(("delete", "remove"))] == []
