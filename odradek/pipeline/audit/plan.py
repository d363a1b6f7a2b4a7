"""Plans an audit: a task for each replica, and the findings about directories that need no partition's log.

Reads names, checkpoints and the metadata log, but no other log. Source: Kafka's LogManager (isStrayReplica, loadLogs),
AssignmentsManager.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from odradek.protocol.common.wall_clock import clock_ms
from odradek.protocol.names.topics import METADATA_TOPIC
from odradek.storage.files.checkpoints import ROOT_CHECKPOINTS
from odradek.storage.files.file_names import (
    DELETE_DIRECTORY_SUFFIX,
    FUTURE_DIRECTORY_SUFFIX,
    STRAY_DIRECTORY_SUFFIX,
    parse_partition_directory,
)
from odradek.storage.files.meta_properties import CLEAN_SHUTDOWN_FILE, META_PROPERTIES

from ..directories.cluster_metadata import DirectoryMetadata
from ..directories.file_access import list_directory, modified_ms
from ..directories.log_directories import find_partitions, refuse_missing
from ..directories.metadata_reader import read_cluster_metadata
from .assignment import Assignment
from .findings import Finding
from .living import is_live
from .policy import topic_policy
from .result import DirectoryStop
from .root_checkpoints import read_root_offsets
from .start_checks import start_findings
from .tasks import RECORDS, AuditTask, StateOptions

_NAMED_ELSEWHERE = (*ROOT_CHECKPOINTS, META_PROPERTIES)
_LEFTOVERS = {
    DELETE_DIRECTORY_SUFFIX: "leftover-delete-directory",
    FUTURE_DIRECTORY_SUFFIX: "leftover-future-directory",
    STRAY_DIRECTORY_SUFFIX: "leftover-stray-directory",
}


@dataclass(frozen=True, slots=True)
class AuditOptions:
    """What to audit. `now_ms` None: the last use of each directory. `at_ms` None: groups as of their last record."""

    topics: Sequence[str] | None = None
    now_ms: int | None = None
    at_ms: int | None = None
    level: str = RECORDS
    state: StateOptions | None = None


@dataclass(slots=True)
class Plan:
    """Tasks, findings that need no partition's log, and the metadata of the cluster."""

    tasks: list[AuditTask]
    findings: list[Finding]
    metadata: DirectoryMetadata
    stops: list[DirectoryStop] = field(default_factory=list)
    doubtful: list[tuple[Assignment, list[Finding]]] = field(default_factory=list)
    """Findings in directories that a broker has open. They are confirmed after the logs are read."""


def plan_audit(directories: Sequence[Path], options: AuditOptions) -> Plan:
    """Plans the audit of log directories. A directory without a metadata log is checked against another one's metadata.

    Raises OSError, and LogDirectoryError, also for a topic that is neither in a directory nor in its metadata.
    """
    metadata = {directory: read_cluster_metadata(directory) for directory in directories}
    known = max(metadata.values(), key=lambda found: len(found.topics))
    plan = Plan([], [], known)
    for directory in directories:
        found = metadata[directory]
        for damage in found.damage:
            place = (str(damage.path), damage.position, -1)
            name = "file-unreadable" if damage.is_refused else "metadata-log-damaged"
            plan.findings.append(Finding(name, METADATA_TOPIC, 0, *place, damage.message))
        _Directory(directory, found if found.is_known else known, options, plan).read()
    there = {task.replica.topic for task in plan.tasks}
    refuse_missing(options.topics, there.union(*(found.topics for found in metadata.values())), directories)
    return plan


def last_use_ms(directory: Path) -> int:
    """When a broker last wrote a checkpoint in the directory, ms since 1970. The default clock of an audit.

    A running broker writes its checkpoints at least every minute. Without a checkpoint, the current time.
    """
    names = (*ROOT_CHECKPOINTS, CLEAN_SHUTDOWN_FILE)
    times = [modified_ms(directory / name) for name in names if (directory / name).exists()]
    return max(times, default=clock_ms())


class _Directory:
    """Plans one log directory."""

    def __init__(self, directory: Path, metadata: DirectoryMetadata, options: AuditOptions, plan: Plan) -> None:
        self.directory = directory
        self.metadata = metadata
        self.options = options
        self.plan = plan
        self.is_clean = (directory / CLEAN_SHUTDOWN_FILE).exists()
        self.is_live = is_live(directory)
        self.checkpoints = read_root_offsets(directory)
        plan.findings += self.checkpoints.findings
        self.now_ms = last_use_ms(directory) if options.now_ms is None else options.now_ms
        plan.stops.append(DirectoryStop(str(directory), self.is_clean, self.is_live, self.now_ms))

    def _add(self, name: str, topic: str, partition: int, path: Path, detail: str, offset: int = -1) -> None:
        self.plan.findings.append(Finding(name, topic, partition, str(path), -1, offset, detail))

    def read(self) -> None:
        """Adds the directory's tasks and findings to the plan."""
        options = self.options
        replicas = find_partitions(self.directory, options.topics)
        for replica in replicas:
            topic = self.metadata.topics.get(replica.topic)
            key = (replica.topic, replica.partition)
            self.plan.tasks.append(
                AuditTask(
                    self.directory,
                    replica,
                    self.is_clean,
                    topic_policy(replica.topic, self.metadata),
                    None if topic is None else topic.topic_id,
                    self.checkpoints.of_partition(key),
                    self.now_ms,
                    options.at_ms,
                    options.level,
                    0 if topic is None else len(topic.brokers),
                    self.is_live,
                    options.state,
                )
            )
        entries = sorted(list_directory(self.directory))
        self.plan.findings += start_findings(self.directory, entries)
        for entry in entries:
            for suffix, name in _LEFTOVERS.items():
                if entry.name.endswith(suffix) and entry.is_directory:
                    self._add(name, "", -1, self.directory / entry.name, "")
            if entry.fault and entry.name not in _NAMED_ELSEWHERE and parse_partition_directory(entry.name) is None:
                self._add("file-unreadable", "", -1, self.directory / entry.name, entry.fault)
        seen = {key for offsets in self.checkpoints.offsets.values() for key in offsets}
        assignment = Assignment(self.directory, options.topics, seen)
        paths = {(replica.topic, replica.partition): replica.path for replica in replicas}
        findings = assignment.findings(self.metadata, paths)
        if self.is_live and findings:
            self.plan.doubtful.append((assignment, findings))
        else:
            self.plan.findings += findings
