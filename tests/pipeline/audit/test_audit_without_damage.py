"""200 directories with random histories and without damage, after a clean stop or a kill, have no finding."""

import shutil
from pathlib import Path

from odradek.pipeline.audit.check import Severity
from odradek.pipeline.audit.job import audit_directories
from odradek.pipeline.engine.engines import LOCAL
from support.data.log_directories import history_directory

DIRECTORIES = 200


def test_directories_without_damage_have_no_finding(tmp_path: Path) -> None:
    for seed in range(DIRECTORIES):
        root = history_directory(tmp_path / str(seed), seed, steps=40, is_clean=seed % 3 > 0)
        findings = audit_directories([root], LOCAL).findings
        serious = [found for found in findings if found.check.severity is not Severity.INFO]
        assert serious == [], f"history_directory(path, {seed}, steps=40, is_clean={seed % 3 > 0})"
        shutil.rmtree(root)
