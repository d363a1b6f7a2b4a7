"""Folds findings that follow from another one into it: a reader needs the cause, not its consequences.

Pure. Within one replica. A finding with consequences says how many it has of which name. Nothing is folded into a
finding that is less severe.
"""

from collections import Counter
from collections.abc import Sequence
from pathlib import PurePosixPath
from typing import NamedTuple

from .findings import Finding


class _CauseRule(NamedTuple):
    """Findings named `causes` explain those named `consequences`, in the files of a segment or of the replica."""

    causes: frozenset[str]
    consequences: frozenset[str]
    is_of_segment: bool = False


_UNREAD = frozenset(
    (
        "file-unreadable",
        "log-end-unreadable",
        "batch-length-invalid",
        "batch-magic-unknown",
        "batch-incomplete",
        "batch-header-invalid",
    )
)
"""The audit does not know the batches of these bytes."""
_INDEXES = frozenset(
    f"{kind}-index-{wrong}"
    for kind in ("offset", "time")
    for wrong in ("mismatch", "incomplete", "truncated", "sparse")
)
_RULES = (
    _CauseRule(_UNREAD, _INDEXES | {"transaction-index-invalid", "aborted-transaction-unindexed"}, is_of_segment=True),
    _CauseRule(
        _UNREAD,
        frozenset(
            (
                "checkpoint-beyond-log",
                "leader-epoch-beyond-log",
                "offset-gap",
                "producer-sequence-gap",
                "producer-snapshot-mismatch",
                "transaction-marker-missing",
            )
        ),
    ),
    _CauseRule(frozenset(("segment-overlap", "offsets-not-increasing")), _INDEXES, is_of_segment=True),
    _CauseRule(
        frozenset(("transactional-bit-lost", "transaction-marker-unknown", "transaction-outcome-contradicted")),
        frozenset(
            (
                "transaction-index-wrong",
                "transaction-index-invalid",
                "aborted-transaction-unindexed",
                "transaction-hanging",
                "producer-snapshot-mismatch",
            )
        ),
    ),
    # Checkpoints have the offsets of the partition that had the directory's name before.
    _CauseRule(
        frozenset(("keys-of-another-partition",)),
        frozenset(("checkpoint-beyond-log", "high-watermark-below-log-start")),
    ),
    _CauseRule(frozenset(("swap-loses-records",)), frozenset(("leftover-swap",))),
    _CauseRule(frozenset(("log-start-beyond-log",)), frozenset(("high-watermark-below-log-start",))),
)


def folded(findings: Sequence[Finding]) -> list[Finding]:
    """The findings of one replica without those that follow from another one, which counts them in its detail."""
    owners = [_cause(finding, findings) for finding in findings]
    counts: dict[int, Counter[str]] = {}
    for finding, owner in zip(findings, owners, strict=True):
        if owner is not None:
            counts.setdefault(owner, Counter())[finding.name] += finding.occurrences
    kept = []
    for index, finding in enumerate(findings):
        if owners[index] is None:
            found = counts.get(index, Counter())
            text = ", ".join(f"{count} {name}" for name, count in sorted(found.items()))
            kept.append(finding._replace(detail=f"{finding.detail} (from this follow: {text})") if text else finding)
    return kept


def _cause(finding: Finding, findings: Sequence[Finding]) -> int | None:
    """The index of the first finding that explains this one; None if none does."""
    rules = [rule for rule in _RULES if finding.name in rule.consequences]
    if not rules:
        return None
    for index, other in enumerate(findings):
        if other.check.severity < finding.check.severity:
            continue
        for rule in rules:
            if other.name in rule.causes and (not rule.is_of_segment or _segment(other) == _segment(finding)):
                return index
    return None


def _segment(finding: Finding) -> str:
    """The base offset in the name of the finding's file."""
    return PurePosixPath(finding.file).name.partition(".")[0]
