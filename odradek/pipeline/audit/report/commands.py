"""The commands for a finding: the one that shows its bytes, and the one that mends it or shows what to mend.

Pure. Templates have the placeholders of PLACES; page.js fills them in for each row of the table of findings. Commands
that could change something have --dry-run, except `add-topics`. Source: docs/commands.md.
"""

import shlex
from collections.abc import Mapping
from pathlib import PurePosixPath

from ..findings import CHECKS, Finding

PLACES = ("DIR", "TOPIC", "FILE", "POSITION")
BYTES = "od -A d -t x1 -j POSITION -N 256 FILE"
DUMP = "odradek dump-log --bytes --files FILE"
TEXT = "cat FILE"
_DUMPED = (".log", ".index", ".timeindex", ".txnindex", ".snapshot")
_REPAIR = "odradek storage repair --dry-run DIR"
_SAVE = "odradek export DIR --topic TOPIC --output saved"
_COMPACT = "odradek compact DIR --dry-run"
_GROUPS = "odradek groups --bootstrap-server BROKER --describe --all-groups"
_SHARE_GROUPS = "odradek share-groups --bootstrap-server BROKER --describe --all-groups"
_TRANSACTIONS = "odradek transactions --bootstrap-server BROKER find-hanging --topic TOPIC"
_EXPLAIN = "odradek storage explain DIR"
_ADD = "odradek storage add-topics DIR TOPIC"

_BY_NAME: Mapping[str, str] = {
    "compaction-overdue": _COMPACT,
    "partition-never-cleaned": _COMPACT,
    "duplicate-keys-in-clean-part": _COMPACT,
    "tombstones-past-horizon": _COMPACT,
    "offsets-topic-growth": _COMPACT,
    "retention-overdue": _EXPLAIN,
    "segments-below-log-start": _EXPLAIN,
    "partition-not-in-metadata": _ADD,
    "transaction-hanging": _TRANSACTIONS,
    "offset-commit-transaction-hanging": _TRANSACTIONS,
    "log-tail-torn": _REPAIR,
    "swap-loses-records": _SAVE,
    "log-start-beyond-log": "odradek export DIR --topic TOPIC --include-deleted --output saved",
    "log-end-unreadable": _SAVE,
    "offset-gap": _SAVE,
    "segment-overlap": _SAVE,
    "segment-emptied": _SAVE,
    "offset-beyond-segment": _SAVE,
    "records-malformed": _SAVE,
    "record-offsets-invalid": _SAVE,
    "offsets-not-increasing": _SAVE,
    "offset-before-segment": _SAVE,
    "file-unreadable": _SAVE,
}
_BY_BEGINNING: Mapping[str, str] = {
    "offset-index-": _REPAIR,
    "time-index-": _REPAIR,
    "transaction-index-": _REPAIR,
    "aborted-transaction-unindexed": _REPAIR,
    "producer-snapshot-": _REPAIR,
    "leader-epoch-checkpoint-": _REPAIR,
    "leftover-": _REPAIR,
    "index-without-log": _REPAIR,
    "batch-": _SAVE,
    "committed-offset-": _GROUPS,
    "commit-": _GROUPS,
    "consumer-": _GROUPS,
    "group-": _GROUPS,
    "stopped-consumer-": _GROUPS,
    "share-": _SHARE_GROUPS,
}


def mending(name: str) -> str:
    """The template of the command for a check; "" if no command helps."""
    if name in _BY_NAME:
        return _BY_NAME[name]
    return next((command for begin, command in _BY_BEGINNING.items() if name.startswith(begin)), "")


def templates() -> dict[str, str]:
    """Check -> template, for the checks for which a command helps."""
    return {name: command for name in sorted(CHECKS) if (command := mending(name))}


def showing(file: str, position: int) -> str:
    """The template of the command that shows the bytes of a finding; "" if it has no file."""
    name = PurePosixPath(file).name
    if "." not in name and "-checkpoint" not in name:
        return ""
    if position >= 0:
        return BYTES
    if name.endswith(("-checkpoint", ".properties", ".metadata")):
        return TEXT
    return DUMP if name.endswith(_DUMPED) else ""


def filled(template: str, found: Finding, directory: str) -> str:
    """The command for one finding, quoted for a shell."""
    values = {"DIR": directory, "TOPIC": found.topic, "FILE": found.file, "POSITION": str(max(found.position, 0))}
    return " ".join(shlex.quote(values[word]) if word in values else word for word in template.split())
