"""An injection: one kind of damage or problem of a directory, and the place that an audit must report."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

from support.pipeline.audited_directory import NOW_MS, AuditedDirectory

COMPACT = {"cleanup.policy": "compact"}
HOUR_MS = 3_600_000
DAY_MS = 24 * HOUR_MS


class Where(NamedTuple):
    """The place that the finding must have; None: any. `others`: directories to audit together with it."""

    file: Path
    position: int | None = None
    offset: int | None = None
    others: tuple[Path, ...] = ()


class Injection(NamedTuple):
    """`damage`: makes the damage and returns its place. `name`: the name of the finding."""

    name: str
    damage: Callable[[AuditedDirectory], Where]
    configs: Mapping[str, str] = {}
    now_ms: int = NOW_MS
    partitions: tuple[int, ...] = (0,)

    @property
    def identifier(self) -> str:
        """The id of the test."""
        return f"{self.name}:{self.damage.__name__}"
