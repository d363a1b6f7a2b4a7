"""The audit of one replica while a broker may change it: deletion, retention, the cleaner, a topic created again.

A directory is listed before and after the audit. If a file that was read was replaced or removed, findings may
mix two states of the log. The audit is then repeated, at most MOST_RESTARTS times; after that it reports only this.
If a broker has the directory open, a warning or an error counts only if the next reading finds it too. A rename, a
half-written file, or a checkpoint or metadata older than the log can cause false findings.
Source: Kafka's LocalLog (deleteSegmentFiles, replaceSegments), LogManager.asyncDelete.
"""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from odradek.storage.directory.directory_lock import lock_holder
from odradek.storage.files.file_names import (
    LOG_SUFFIX,
    OFFSET_INDEX_SUFFIX,
    TIME_INDEX_SUFFIX,
    TRANSACTION_INDEX_SUFFIX,
)
from odradek.storage.files.regular_files import fault_text

from ..directories.file_access import MOST_RESTARTS, FileEntry, attempts, is_gone, is_local, is_unreadable
from ..directories.log_directories import list_entries
from ..directories.metadata_reader import read_cluster_metadata
from ..directories.segment_files import segments_in_exchange, segments_of
from .check import Severity
from .findings import Finding
from .policy import topic_policy
from .root_checkpoints import read_root_offsets
from .tasks import AuditTask, PartitionReport

_READ_WHOLE = (LOG_SUFFIX, OFFSET_INDEX_SUFFIX, TIME_INDEX_SUFFIX, TRANSACTION_INDEX_SUFFIX)
Entries = dict[str, FileEntry]


def is_live(directory: Path) -> bool:
    """Whether a broker on this machine has the log directory's lock. Does not take the lock."""
    try:
        return is_local(directory) and lock_holder(directory) is not None
    except OSError:
        return False  # the lock can't be queried: the audit treats the directory as closed


def audit_living(task: AuditTask, audit: Callable[[AuditTask], PartitionReport]) -> PartitionReport:
    """Audits the replica as it is now by calling `audit`. Raises OSError for errors that do not concern one file."""
    seen: set[tuple[str, str, int, int]] = set()
    is_first = True
    for is_last in attempts():
        if not is_first:
            task = _refreshed(task)
        is_first = False
        if task.replica.fault:
            return note(task, "file-unreadable", task.replica.fault)
        try:
            before, is_changing = _entries_by_name(task.replica.path)
        except OSError as error:
            if is_gone(error):
                return note(task, "partition-gone", "")
            if not is_unreadable(error, task.replica.path):
                raise
            return note(task, "file-unreadable", fault_text(error))
        if is_changing and not is_last:
            continue
        listed = segments_in_exchange if is_changing else segments_of
        segments = tuple(listed(task.replica.path, before.values()))
        task = replace(task, replica=task.replica._replace(segments=segments))
        try:
            report = audit(task)
            is_changed = _is_changed(before, _entries_by_name(task.replica.path)[0], task)
        except OSError as error:
            if not is_gone(error):
                raise
            is_changed = True
        if is_changed:
            continue
        serious = {_key(finding) for finding in report.findings if finding.check.severity is not Severity.INFO}
        if not serious or not task.is_live or serious <= seen:
            return report
        if is_last:
            report.findings = [finding for finding in report.findings if _key(finding) not in serious - seen]
            return report
        seen = serious
    return note(task, "partition-changing", f"files were replaced during each of {MOST_RESTARTS + 1} readings")


def _key(finding: Finding) -> tuple[str, str, int, int]:
    return finding.name, finding.file, finding.position, finding.offset


def _entries_by_name(directory: Path) -> tuple[Entries, bool]:
    """The entries by name; True if the cleaner is renaming files."""
    entries, is_changing = list_entries(directory)
    return {entry.name: entry for entry in entries}, is_changing


def _is_changed(before: Entries, after: Entries, task: AuditTask) -> bool:
    """Whether a file that was read was replaced or removed, a log was truncated, or a closed segment has grown."""
    active = task.replica.segments[-1].path.name if task.replica.segments else ""
    for name, entry in before.items():
        if not name.endswith(_READ_WHOLE):
            continue
        now = after.get(name)
        if now is None or now.inode != entry.inode:
            return True
        if name.endswith(LOG_SUFFIX) and (now.size < entry.size or (now.size > entry.size and name != active)):
            return True
    return False


def _refreshed(task: AuditTask) -> AuditTask:
    """The task with its directory's checkpoints and metadata read again: the topic may have been created again."""
    topic = task.replica.topic
    key = (topic, task.replica.partition)
    task = replace(
        task,
        checkpoints=read_root_offsets(task.directory).of_partition(key),
        is_live=is_live(task.directory),
    )
    metadata = read_cluster_metadata(task.directory)
    if topic not in metadata.topics:
        return task
    return replace(task, topic_id=metadata.topics[topic].topic_id, policy=topic_policy(topic, metadata))


def note(task: AuditTask, name: str, detail: str) -> PartitionReport:
    """A report with one finding and no figures, for a replica that could not be audited."""
    replica = task.replica
    report = PartitionReport(str(task.directory), replica.topic, replica.partition, is_known=False)
    report.add(name, replica.path, detail)
    return report
