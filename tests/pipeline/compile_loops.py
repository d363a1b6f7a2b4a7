"""Compiles the loops of the jobs into numba's cache: ``make compiled``, ``python -m tests.pipeline.compile_loops``.

That takes 25 s of processor time. In a new clone each process of tests that needs the loops would compile them.
"""

import contextlib
import io
import tempfile
from pathlib import Path

from odradek.pipeline.export.command import export
from support.pipeline.audited_directory import AuditedDirectory

from .peak_memory import JOBS


def run_jobs(place: Path) -> None:
    """Runs each job on a small directory, and imports what it exports."""
    root = AuditedDirectory(place / "logs").root
    for name in ("audit", "kafkalog"):
        JOBS[name](root)
    with contextlib.redirect_stdout(io.StringIO()):
        assert export([str(root), "--output", str(place / "rows")]) == 0
    JOBS["import"](place / "rows")
    JOBS["compact"](root)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as scratch:
        run_jobs(Path(scratch))
