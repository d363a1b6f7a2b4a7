"""Checks what keeps Kafka from starting on a log directory: names of directories, and the state of the quorum.

Reads names and one small file. Source: Kafka's LogManager.loadLogs and UnifiedLog.parseTopicPartitionName, which
accept no other directory; FileQuorumStateStore.readStateFromFile, QuorumStateData.
"""

import json
from collections.abc import Iterable
from pathlib import Path

from odradek.protocol.names.topics import METADATA_TOPIC
from odradek.storage.files.file_names import (
    DELETE_DIRECTORY_SUFFIX,
    FUTURE_DIRECTORY_SUFFIX,
    STRAY_DIRECTORY_SUFFIX,
    parse_partition_directory,
    partition_directory_name,
)
from odradek.storage.files.meta_properties import META_PROPERTIES
from odradek.storage.files.regular_files import fault_text

from ..directories.file_access import FileEntry, is_gone, is_unreadable, read_file
from .findings import Finding

QUORUM_STATE = "quorum-state"
_REMOTE_INDEXES = "remote-log-index-cache"
_SUFFIXES = (DELETE_DIRECTORY_SUFFIX, FUTURE_DIRECTORY_SUFFIX, STRAY_DIRECTORY_SUFFIX)
_STATE_VERSIONS = (0, 1)


def start_findings(directory: Path, entries: Iterable[FileEntry]) -> list[Finding]:
    """Findings about the log directory with these entries; none if it is not formatted. Raises OSError."""
    listed = list(entries)
    if not any(entry.name == META_PROPERTIES for entry in listed):
        return []  # a partition's directory, or a part of a directory
    names = {entry.name for entry in listed if entry.is_directory}
    found = []
    for name in sorted(names):
        wrong = _wrong_name(name, names)
        if wrong:
            found.append(Finding("directory-name-invalid", "", -1, str(directory / name), -1, -1, wrong))
    if f"{METADATA_TOPIC}-0" in names:
        found += _quorum_state(directory / f"{METADATA_TOPIC}-0" / QUORUM_STATE)
    return found


def _wrong_name(name: str, names: set[str]) -> str:
    """The reason why Kafka does not start with a directory of this name; "" if it does."""
    if name == _REMOTE_INDEXES:
        return ""
    parsed = parse_partition_directory(name)
    if parsed is None:
        return "its name is not that of a partition"
    canonical = partition_directory_name(*parsed)
    if name == canonical or name.endswith(_SUFFIXES):
        return ""
    same = sorted(
        other for other in names if not other.endswith(_SUFFIXES) and parse_partition_directory(other) == parsed
    )
    first = canonical if canonical in same else same[0]
    return "" if name == first else f"it is a second directory of {canonical}, after {first}"


def _quorum_state(path: Path) -> list[Finding]:
    """A finding if the file exists and is not a state of the quorum."""
    try:
        data = read_file(path)
    except OSError as error:
        if is_gone(error):
            return []  # a controller that has not voted yet has none
        if not is_unreadable(error, path):
            raise
        return [Finding("file-unreadable", METADATA_TOPIC, 0, str(path), 0, -1, fault_text(error))]
    wrong = wrong_quorum_state(data)
    return [Finding("quorum-state-unreadable", METADATA_TOPIC, 0, str(path), 0, -1, wrong)] if wrong else []


def wrong_quorum_state(data: bytes) -> str:
    """The reason why Kafka can't read a state of the quorum; "" if it can. Kafka reads its first line."""
    line = data.partition(b"\n")[0]
    if not line.strip():
        return "the file has no state"
    try:
        state = json.loads(line)
    except ValueError as error:
        return f"it is not JSON: {error}"
    if not isinstance(state, dict):
        return "it is not a JSON object"
    version = state.get("data_version")
    if version not in _STATE_VERSIONS:
        return f"data_version is {version}, not 0 or 1"
    needed = ("leaderId", "leaderEpoch", "votedId", *(("appliedOffset", "currentVoters") if version == 0 else ()))
    missing = [name for name in needed if name not in state]
    return f"it has no {', '.join(missing)}" if missing else ""
