"""Compares the partitions in a log directory with those that the metadata assigns to it.

Reads meta.properties and the names of directories. A running broker creates or deletes a topic's directories slightly
later than the metadata changes, so `confirmed` checks each finding again. The check is skipped if the metadata log is
damaged. Source: Kafka's LogManager.isStrayReplica, AssignmentsManager, DirectoryId.
"""

import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from odradek.protocol.names.topics import TopicPartition
from odradek.storage.errors import CorruptCheckpointError
from odradek.storage.files.meta_properties import META_PROPERTIES, MetaProperties, read_meta_properties
from odradek.storage.files.regular_files import fault_text

from ..directories.cluster_metadata import DirectoryMetadata
from ..directories.file_access import PAUSE_S, PathFiles, is_gone, is_unreadable
from ..directories.log_directories import find_partitions
from ..directories.metadata_reader import read_cluster_metadata
from .findings import Finding

ATTEMPTS = 10
"""The number of times a finding is checked again, PAUSE_S apart. A broker acts on the metadata within milliseconds."""
_FIRST_REAL_ID = 100  # lower ids are reserved: unassigned, lost, migrating (DirectoryId.java)


@dataclass(frozen=True, slots=True)
class Assignment:
    """A log directory to check. `topics`: only these; None for all. `seen`: the partitions in its checkpoint files."""

    directory: Path
    topics: Sequence[str] | None
    seen: Collection[TopicPartition]

    def findings(self, metadata: DirectoryMetadata, paths: Mapping[TopicPartition, Path]) -> list[Finding]:
        """A finding for each partition that the metadata places differently, or that is missing here.

        `paths`: the partitions in the directory. Raises OSError.
        """
        if not metadata.is_known or metadata.damage:
            return []
        try:
            mine = read_meta_properties(PathFiles(), self.directory)
        except CorruptCheckpointError as error:
            return [Finding("checkpoint-unreadable", "", -1, str(self.directory / META_PROPERTIES), -1, -1, str(error))]
        except OSError as error:
            path = self.directory / META_PROPERTIES
            if is_gone(error) or not is_unreadable(error, path):
                raise
            return [Finding("file-unreadable", "", -1, str(path), 0, -1, fault_text(error))]
        found = [
            Finding(*kind, str(path), -1, -1, detail)
            for (name, partition), path in paths.items()
            for kind, detail in [_misplaced(metadata, mine, name, partition)]
            if detail
        ]
        return [*found, *self._missing(metadata, mine, paths)]

    def _missing(
        self, metadata: DirectoryMetadata, mine: MetaProperties | None, paths: Mapping[TopicPartition, Path]
    ) -> list[Finding]:
        """Findings for partitions that the metadata assigns to this directory and that have no directory here.

        Only partitions in a checkpoint file count: a broker may create the others on first use.
        """
        if mine is None or not mine.directory_id:
            return []
        found = []
        for topic in metadata.topics.values():
            if topic.name not in (self.topics or metadata.topics):
                continue
            for partition, brokers in topic.brokers.items():
                key = (topic.name, partition)
                if key in paths or key not in self.seen or mine.node_id not in brokers:
                    continue
                slot = brokers.index(mine.node_id)
                if topic.directories.get(partition, [])[slot : slot + 1] == [mine.directory_id]:
                    path = str(self.directory / f"{topic.name}-{partition}")
                    found.append(Finding("partition-missing", *key, path, -1, -1, "the directory does not exist"))
        return found


def _misplaced(
    metadata: DirectoryMetadata, mine: MetaProperties | None, name: str, partition: int
) -> tuple[tuple[str, str, int], str]:
    """The finding's name, topic and partition, and its detail; no detail if the partition belongs here."""
    topic = metadata.topics.get(name)
    if topic is None or partition not in topic.brokers:
        return ("partition-not-in-metadata", name, partition), "the metadata has no such partition"
    kind = ("partition-assigned-elsewhere", name, partition)
    if mine is None:
        return kind, ""
    brokers = topic.brokers[partition]
    if mine.node_id not in brokers:
        return kind, f"the metadata assigns it to brokers {brokers}, but this is a directory of broker {mine.node_id}"
    assigned = dict(zip(brokers, topic.directories.get(partition, []), strict=False)).get(mine.node_id)
    if assigned is None or int.from_bytes(assigned, "big") < _FIRST_REAL_ID or assigned == mine.directory_id:
        return kind, ""
    return kind, f"the metadata assigns it to directory {assigned.hex()}, this one is {mine.directory_id.hex()}"


def confirmed(assignment: Assignment, found: Sequence[Finding]) -> list[Finding]:
    """The findings that remain after metadata and directory are read again. Raises OSError."""
    for _ in range(ATTEMPTS):
        if not found:
            break
        time.sleep(PAUSE_S)
        metadata = read_cluster_metadata(assignment.directory)
        if not metadata.is_known:
            break  # the finding comes from the metadata of another directory
        replicas = find_partitions(assignment.directory, assignment.topics)
        paths = {(replica.topic, replica.partition): replica.path for replica in replicas}
        still = {_key(finding) for finding in assignment.findings(metadata, paths)}
        found = [finding for finding in found if _key(finding) in still]
    return list(found)


def _key(finding: Finding) -> tuple[str, str, int]:
    return finding.name, finding.topic, finding.partition
