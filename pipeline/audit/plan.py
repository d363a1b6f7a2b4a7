"""What an audit reads: a task for each replica; and what a directory's root and the metadata say against each other.

Reads names, checkpoints and the metadata log, no other log. Source: Kafka's LogManager (isStrayReplica, loadLogs),
AssignmentsManager.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ...storage.checkpoints import ROOT_CHECKPOINTS, TopicPartition, read_root_checkpoints
from ...storage.errors import CorruptCheckpointError
from ...storage.file_names import (
    DELETE_DIRECTORY_SUFFIX,
    FUTURE_DIRECTORY_SUFFIX,
    METADATA_TOPIC,
    STRAY_DIRECTORY_SUFFIX,
)
from ...storage.meta_properties import (
    CLEAN_SHUTDOWN_FILE,
    META_PROPERTIES,
    MetaProperties,
    read_meta_properties,
)
from ..cluster_metadata import ClusterMetadata, read_cluster_metadata
from ..file_access import PathFiles, list_directory, modified_ms
from ..log_directories import find_partitions, refuse_missing
from .findings import Finding
from .policy import topic_policy
from .tasks import RECORDS, AuditTask

_LEFTOVERS = {
    DELETE_DIRECTORY_SUFFIX: "leftover-delete-directory",
    FUTURE_DIRECTORY_SUFFIX: "leftover-future-directory",
    STRAY_DIRECTORY_SUFFIX: "leftover-stray-directory",
}


@dataclass(frozen=True, slots=True)
class AuditOptions:
    """What to audit. `now_ms` None: the time when each directory was last in use; `at_ms` None: groups as they are."""

    topics: Sequence[str] | None = None
    now_ms: int | None = None
    at_ms: int | None = None
    level: str = RECORDS


@dataclass(slots=True)
class Plan:
    """Tasks, findings that need no log, and what the metadata says of the cluster."""

    tasks: list[AuditTask]
    findings: list[Finding]
    metadata: ClusterMetadata


def plan_audit(directories: Sequence[Path], options: AuditOptions) -> Plan:
    """Plans the audit of log directories. One without a metadata log is judged by another's.

    Raises OSError, LogDirectoryError (for a topic, too, that neither a directory nor its metadata has).
    """
    metadata = {directory: read_cluster_metadata(directory) for directory in directories}
    known = max(metadata.values(), key=lambda found: len(found.topics))
    plan = Plan([], [], known)
    for directory in directories:
        found = metadata[directory]
        for damage in found.damage:
            file = str(damage.path)
            plan.findings.append(
                Finding("metadata-log-damaged", METADATA_TOPIC, 0, file, damage.position, -1, damage.message)
            )
        _Directory(directory, found if found.is_known else known, options, plan).read()
    there = {task.replica.topic for task in plan.tasks}
    refuse_missing(options.topics, there.union(*(found.topics for found in metadata.values())), directories)
    return plan


def last_use_ms(directory: Path) -> int:
    """When a broker last wrote a checkpoint there (a running one does every minute): the clock of its audit."""
    names = (*ROOT_CHECKPOINTS, CLEAN_SHUTDOWN_FILE)
    times = [modified_ms(directory / name) for name in names if (directory / name).exists()]
    return max(times, default=time.time_ns() // 1_000_000)


class _Directory:
    """One log directory while it is planned."""

    def __init__(self, directory: Path, metadata: ClusterMetadata, options: AuditOptions, plan: Plan) -> None:
        self.directory = directory
        self.metadata = metadata
        self.options = options
        self.plan = plan
        self.is_clean = (directory / CLEAN_SHUTDOWN_FILE).exists()
        self.checkpoints, damage = read_root_checkpoints(PathFiles(), directory)
        for name, fault in damage.items():
            self._add("checkpoint-unreadable", "", -1, directory / name, str(fault))

    def _add(self, name: str, topic: str, partition: int, path: Path, detail: str, offset: int = -1) -> None:
        self.plan.findings.append(Finding(name, topic, partition, str(path), -1, offset, detail))

    def read(self) -> None:
        """Adds the directory's tasks and findings to the plan."""
        options = self.options
        now_ms = last_use_ms(self.directory) if options.now_ms is None else options.now_ms
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
                    {name: found[key] for name, found in self.checkpoints.items() if key in found},
                    now_ms,
                    options.at_ms,
                    options.level,
                )
            )
        for entry in sorted(list_directory(self.directory)):
            for suffix, name in _LEFTOVERS.items():
                if entry.name.endswith(suffix) and entry.is_directory:
                    self._add(name, "", -1, self.directory / entry.name, "")
        if self.metadata.is_known:
            self._check_assignment({(replica.topic, replica.partition): replica.path for replica in replicas})

    def _check_assignment(self, paths: dict[TopicPartition, Path]) -> None:
        """The partitions that are here against those that the metadata wants here."""
        try:
            mine = read_meta_properties(PathFiles(), self.directory)
        except CorruptCheckpointError as error:
            self._add("checkpoint-unreadable", "", -1, self.directory / META_PROPERTIES, str(error))
            return
        for (name, partition), path in paths.items():
            topic = self.metadata.topics.get(name)
            if topic is None or partition not in topic.brokers:
                self._add("partition-not-in-metadata", name, partition, path, "the metadata has no such partition")
            elif mine is not None and (elsewhere := self._elsewhere(mine, name, partition)):
                self._add("partition-assigned-elsewhere", name, partition, path, elsewhere)
        if mine is not None and mine.directory_id:
            self._check_missing(mine, paths)

    def _elsewhere(self, mine: MetaProperties, name: str, partition: int) -> str:
        """Where the metadata has the partition, if not in this directory."""
        topic = self.metadata.topics[name]
        brokers = topic.brokers[partition]
        if mine.node_id not in brokers:
            return f"the metadata assigns it to brokers {brokers}, this directory is of broker {mine.node_id}"
        assigned = dict(zip(brokers, topic.directories.get(partition, []), strict=False)).get(mine.node_id)
        if assigned is None or int.from_bytes(assigned, "big") < 100 or assigned == mine.directory_id:
            return ""  # the lowest ids mean: not known, lost, migrating (DirectoryId.java)
        return f"the metadata assigns it to directory {assigned.hex()}, this one is {mine.directory_id.hex()}"

    def _check_missing(self, mine: MetaProperties, paths: dict[TopicPartition, Path]) -> None:
        """Partitions that should be here and that a checkpoint has seen here: a directory may be made on first use."""
        seen = {key for offsets in self.checkpoints.values() for key in offsets}
        for topic in self.metadata.topics.values():
            if topic.name not in (self.options.topics or self.metadata.topics):
                continue
            for partition, brokers in topic.brokers.items():
                key = (topic.name, partition)
                if key in paths or key not in seen or mine.node_id not in brokers:
                    continue
                slot = brokers.index(mine.node_id)
                if topic.directories.get(partition, [])[slot : slot + 1] == [mine.directory_id]:
                    path = self.directory / f"{topic.name}-{partition}"
                    self._add("partition-missing", topic.name, partition, path, "the directory is not there")
