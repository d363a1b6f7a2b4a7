"""Checks the findings about groups again if a broker has the directory open, because it writes while the audit reads.

If the audit reads a commit before the log, the log's start may have passed the commit by then. If it reads the commit
after the log, the commit may be after the log end that it read. The second check reads in an order that rules out both:
log start offsets, then commits, then log end offsets and topics. A finding counts only if both checks have it.
Source: none; the order of the reads.
"""

import time
from collections.abc import Sequence
from dataclasses import replace

from odradek.protocol.names.topics import TopicPartition
from odradek.storage.files.checkpoints import LOG_START_OFFSET_CHECKPOINT

from ...decode.checked_headers import read_headers
from ...decode.damage import Damage
from ...directories.cluster_metadata import DirectoryMetadata
from ...directories.file_access import MOST_RESTARTS, PAUSE_S, attempts, is_gone
from ...directories.log_directories import PartitionDirectory, partition_at
from ...directories.metadata_reader import read_cluster_metadata
from ...directories.segment_files import indexed_positions
from ...engine.engines import run_tasks
from ...engine.job import Job
from ..findings import Finding
from ..partition_audit import audit_partition
from ..root_checkpoints import read_root_offsets
from ..tasks import GROUP_TOPICS, AuditTask, PartitionReport
from .audit import audit_groups

DOUBTFUL = frozenset(
    (
        "commit-to-missing-partition",
        "commit-to-missing-topic",
        "commit-to-recreated-topic",
        "committed-offset-before-log-start",
        "committed-offset-beyond-log",
        "committed-offset-truncated",
        "share-start-before-log-start",
        "share-state-beyond-log",
        "share-state-missing",
        "share-state-orphaned",
        "share-topic-missing",
        "streams-internal-topic-missing",
        "streams-source-missing",
    )
)
"""Findings that compare a commit, a state or a group with data that was read at another time."""


def confirmed(
    found: Sequence[Finding],
    reports: Sequence[PartitionReport],
    tasks: Sequence[AuditTask],
    metadata: DirectoryMetadata,
    engine: str,
    *,
    now_ms: int | None,
    at_ms: int | None,
) -> list[Finding]:
    """Drops the findings named in DOUBTFUL that a new check does not find. Raises OSError and the errors of engines."""
    kept = list(found)
    for _ in range(MOST_RESTARTS):
        doubtful = {_key(finding) for finding in kept if finding.name in DOUBTFUL}
        if not doubtful:
            break
        time.sleep(PAUSE_S)
        keys = {(topic, partition) for _, topic, partition, _ in doubtful}
        seen_anew = _reread(reports, tasks, keys, engine)
        own = next((task.directory for task in tasks if task.is_live), None)
        now = DirectoryMetadata() if own is None else read_cluster_metadata(own)
        again = audit_groups(seen_anew, tasks, now if now.is_known else metadata, engine, now_ms=now_ms, at_ms=at_ms)
        still = {_key(finding) for finding in again.findings}
        kept = [finding for finding in kept if finding.name not in DOUBTFUL or _key(finding) in still]
    return kept


def _key(finding: Finding) -> tuple[str, str, int, str]:
    """(name, topic, partition, group). The group is the part of the detail before the first colon."""
    return finding.name, finding.topic, finding.partition, finding.detail.partition(": ")[0]


def _reread(
    reports: Sequence[PartitionReport], tasks: Sequence[AuditTask], keys: set[TopicPartition], engine: str
) -> list[PartitionReport]:
    """Reads the partitions' log start offsets, then all commits, then the log end offsets. Returns the new reports."""
    anew = list(reports)
    chosen = [index for index, task in enumerate(tasks) if (task.replica.topic, task.replica.partition) in keys]
    for index in chosen:
        start = _log_start(tasks[index])
        anew[index] = replace(anew[index], log_start_offset=start, is_known=start >= 0)
    commits = [index for index, task in enumerate(tasks) if task.replica.topic in GROUP_TOPICS]
    sizes = [anew[index].size for index in commits]
    read = run_tasks(
        engine, Job([tasks[index] for index in commits], audit_partition, "odradek audit: groups", sizes=sizes)
    )
    for index, report in zip(commits, read, strict=True):
        anew[index] = report
    for index in chosen:
        end = _log_end(tasks[index])
        anew[index] = replace(anew[index], log_end_offset=end, is_known=end >= 0 and anew[index].is_known)
    return anew


def _now(task: AuditTask) -> PartitionDirectory | None:
    return partition_at((task.replica.topic, task.replica.partition), task.replica.path)


def _log_start(task: AuditTask) -> int:
    """The current log start offset; -1 if the log is gone."""
    key = (task.replica.topic, task.replica.partition)
    checkpointed = read_root_offsets(task.directory).of_partition(key).get(LOG_START_OFFSET_CHECKPOINT, 0)
    found = _now(task)
    return -1 if found is None or not found.segments else max(checkpointed, found.segments[0].base_offset)


def _log_end(task: AuditTask) -> int:
    """The current log end offset; -1 if the log is gone. Reads the headers of the last segment."""
    for _ in attempts():
        found = _now(task)
        if found is None or not found.segments:
            break
        last = found.segments[-1]
        end = last.base_offset
        try:
            for item in read_headers(last.path, indexed_positions(last)):
                if not isinstance(item, Damage):
                    end = max(end, int(item.headers.last_offsets.max()) + 1)
        except OSError as error:
            if not is_gone(error):
                raise
            continue
        return end
    return -1
