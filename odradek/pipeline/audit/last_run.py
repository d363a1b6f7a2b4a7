"""Compares an audit with the last one that had the same state: what is new, gone and growing.

    DIR/last-<hash>.json      the findings and lags of the last audit of these log directories, topics and level

A finding of a name is the same one as last time if it is in the same replica, for a group also if it names the group:
its position may change. Owns: that file. Source: docs/audit.md.
"""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from ..directories.file_access import read_file
from .findings import Finding
from .groups.burrow import Status
from .state_file import replace_file
from .tasks import StateOptions

if TYPE_CHECKING:
    from .groups.rows import GroupLag

VERSION = 1
GROWING = "stopped-consumer-lag-growing"


class FindingKey(NamedTuple):
    """What a finding has in common with that of the last audit. `place`: the folder of its file, and a group."""

    name: str
    topic: str
    partition: int
    place: str


@dataclass(slots=True)
class AuditChanges:
    """What has changed since the audit at `since_ms`; `since_ms` is None for the first one, when everything is new."""

    since_ms: int | None = None
    new: list[Finding] = field(default_factory=list)
    gone: list[FindingKey] = field(default_factory=list)
    growing: list[Finding] = field(default_factory=list)
    """Findings with more occurrences than last time."""


@dataclass(slots=True)
class LastRun:
    """The findings of an audit with their occurrences, and the lags of groups as (committed offset, lag)."""

    at_ms: int
    findings: dict[FindingKey, int] = field(default_factory=dict)
    lags: dict[tuple[str, str, int], tuple[int, int]] = field(default_factory=dict)


def path_of_last(state: StateOptions, directories: Iterable[Path], topics: Sequence[str] | None, level: str) -> Path:
    """The file of the last audit of these directories and topics."""
    named = json.dumps([sorted(map(str, directories)), sorted(topics or ()), level])
    return state.root / f"last-{sha256(named.encode()).hexdigest()[:16]}.json"


def read_last(path: Path) -> tuple[LastRun | None, str]:
    """The last audit, or None; and what is wrong with its file, or "". Raises OSError."""
    try:
        version, at_ms, findings, lags = json.loads(read_file(path))
        if version != VERSION:
            return None, f"{path} has version {version}, not {VERSION}: every finding counts as new"
        return LastRun(
            at_ms,
            {FindingKey(*key): count for *key, count in findings},
            {(group, topic, partition): (offset, lag) for group, topic, partition, offset, lag in lags},
        ), ""
    except FileNotFoundError:
        return None, ""
    except (ValueError, TypeError) as error:
        return None, f"{path} can't be parsed ({error}): every finding counts as new"


def write_last(path: Path, at_ms: int, findings: Iterable[Finding], lags: "Iterable[GroupLag]") -> None:
    """Replaces the file. Raises OSError."""
    counts = [[*key, count] for key, (_, count) in _by_key(findings).items()]
    rows = [[lag.group, lag.topic, lag.partition, lag.committed_offset, lag.lag] for lag in lags]
    replace_file(path, json.dumps([VERSION, at_ms, counts, rows], separators=(",", ":")).encode())


def changes_since(last: LastRun | None, findings: Iterable[Finding]) -> AuditChanges:
    """Compares findings with those of the last audit."""
    now = _by_key(findings)
    before = {} if last is None else last.findings
    return AuditChanges(
        None if last is None else last.at_ms,
        [finding for key, (finding, _) in now.items() if key not in before],
        [key for key in before if key not in now],
        [finding for key, (finding, count) in now.items() if count > before.get(key, count)],
    )


def growing_lags(last: LastRun | None, lags: "Iterable[GroupLag]", places: Iterable[Finding]) -> list[Finding]:
    """A finding for each stopped consumer that has committed nothing since the last audit and is further behind.

    `places`: findings that have the place of the consumer's last commit.
    """
    if last is None:
        return []
    by_place = {
        (finding.detail.partition(": ")[0], finding.topic, finding.partition): finding
        for finding in places
        if finding.name == "consumer-stopped"
    }
    found = []
    for row in lags:
        offset, lag = last.lags.get((row.group, row.topic, row.partition), (-1, -1))
        if row.status != Status.STOP or offset != row.committed_offset or not 0 <= lag < row.lag:
            continue
        stopped = by_place.get((f"group {row.group}", row.topic, row.partition))
        if stopped is not None:
            detail = f"group {row.group}: at offset {offset}, {row.lag} records behind, {lag} at the last audit"
            found.append(stopped._replace(name=GROWING, detail=detail))
    return found


def _by_key(findings: Iterable[Finding]) -> dict[FindingKey, tuple[Finding, int]]:
    """The first finding of each key, and the occurrences of all."""
    found: dict[FindingKey, tuple[Finding, int]] = {}
    for finding in findings:
        group = finding.detail.partition(": ")[0] if finding.detail.startswith("group ") else ""
        place = " ".join(filter(None, [finding.file.rpartition("/")[0], group]))
        key = FindingKey(finding.name, finding.topic, finding.partition, place)
        first, count = found.get(key, (finding, 0))
        found[key] = (first, count + finding.occurrences)
    return found
