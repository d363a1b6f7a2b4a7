"""Every problem that an audit knows, injected one at a time, is found with its name and place."""

from pathlib import Path

import pytest

from odradek.pipeline.audit.catalogue_directory import DIRECTORY_CHECKS
from odradek.pipeline.audit.catalogue_log import LOG_CHECKS
from odradek.pipeline.audit.check import Severity
from odradek.pipeline.audit.job import audit_directories
from odradek.pipeline.engine.engines import LOCAL
from support.pipeline.audited_directory import NOW_MS, AuditedDirectory

from .audit_injections import COMPACT, Injection
from .damaged_batches import BATCH_INJECTIONS
from .damaged_files import FILE_INJECTIONS
from .damaged_replicas import REPLICA_INJECTIONS
from .damaged_starts import START_INJECTIONS

INJECTIONS = BATCH_INJECTIONS + FILE_INJECTIONS + REPLICA_INJECTIONS + START_INJECTIONS


@pytest.mark.parametrize("configs", [{}, COMPACT, {"cleanup.policy": "compact,delete"}], ids=str)
def test_the_directory_to_be_damaged_has_nothing_wrong(tmp_path: Path, configs: dict[str, str]) -> None:
    directory = AuditedDirectory(tmp_path / "logs", configs)
    result = audit_directories([directory.root], LOCAL, now_ms=NOW_MS)
    assert [found for found in result.findings if found.check.severity is not Severity.INFO] == []
    assert {found.name for found in result.findings} <= {"codecs-mixed"}


@pytest.mark.parametrize("injection", INJECTIONS, ids=lambda injection: injection.identifier)
def test_it_is_found_named_and_located(tmp_path: Path, injection: Injection) -> None:
    directory = AuditedDirectory(tmp_path / "logs", injection.configs, partitions=injection.partitions)
    where = injection.damage(directory)
    result = audit_directories([directory.root, *where.others], LOCAL, now_ms=injection.now_ms)
    found = [finding for finding in result.findings if finding.name == injection.name]
    assert found, f"only {sorted({finding.name for finding in result.findings})} were found"
    places = [(finding.file, finding.position, finding.offset) for finding in found]
    assert any(
        file == str(where.file) and where.position in (None, position) and where.offset in (None, offset)
        for file, position, offset in places
    ), f"{places}, not {where}"


def test_each_check_of_a_log_is_injected() -> None:
    by_changes_while_it_is_read = {"partition-gone", "partition-changing"}  # test_audit_living.py
    only_with_a_state = {"closed-segment-changed"}  # test_audit_state.py
    assert set(LOG_CHECKS | DIRECTORY_CHECKS) - by_changes_while_it_is_read - only_with_a_state == {
        injection.name for injection in INJECTIONS
    }
    assert len(LOG_CHECKS | DIRECTORY_CHECKS) >= 45
