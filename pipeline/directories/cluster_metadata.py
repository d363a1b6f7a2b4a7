"""What a log directory's own metadata log says of topics: ids, replicas, configs.

Reads ``__cluster_metadata-0``: the newest snapshot, then the log behind it (metadata_replay.py). Never writes. A
directory without it says nothing (a broker whose controllers are elsewhere keeps a copy, too).
"""

from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from ...storage.files.file_names import LOG_SUFFIX, METADATA_TOPIC, base_offset_of
from ...storage.files.meta_properties import CLEAN_SHUTDOWN_FILE
from .file_access import is_gone, list_directory

_LISTINGS = 3
_SNAPSHOT_SUFFIX = ".checkpoint"


@dataclass(slots=True)
class TopicFacts:
    """One topic: its 16-byte id, and for each partition the brokers that have it and the ids of their log directories
    (none where brokers before Kafka 3.7 wrote the record)."""

    name: str
    topic_id: bytes
    brokers: dict[int, list[int]] = field(default_factory=dict)
    directories: dict[int, list[bytes]] = field(default_factory=dict)

    @property
    def replicas(self) -> dict[int, int]:
        """The number of replicas of each partition."""
        return {partition: len(brokers) for partition, brokers in self.brokers.items()}


class MetadataDamage(NamedTuple):
    """What can't be read of the metadata log from a position on; `is_refused`: the system would not read the file."""

    path: Path
    position: int
    message: str
    is_refused: bool = False


@dataclass(slots=True)
class ClusterMetadata:
    """Topics by name; configs set for topics, for all brokers, and for one broker by its id, by Kafka's keys."""

    topics: dict[str, TopicFacts] = field(default_factory=dict)
    topic_configs: dict[str, dict[str, str]] = field(default_factory=dict)
    broker_configs: dict[str, str] = field(default_factory=dict)
    named_broker_configs: dict[str, dict[str, str]] = field(default_factory=dict)
    is_known: bool = False
    """Whether there was a metadata log at all."""
    damage: list[MetadataDamage] = field(default_factory=list)

    def configs_of_broker(self, broker_id: str | None) -> dict[str, str]:
        """What a broker's dynamic configuration says: its own (None: of no broker) before that of all."""
        return self.broker_configs | self.named_broker_configs.get(broker_id or "", {})


def read_cluster_metadata(log_directory: Path) -> ClusterMetadata:
    """What the metadata in a log directory says; as far as it can be read. Raises OSError.

    A running broker deletes old segments and snapshots: then the directory is listed again.
    """
    for _ in range(_LISTINGS):
        try:
            return _read(log_directory)
        except OSError as error:
            if not is_gone(error):
                raise
    return _read(log_directory)


def _read(log_directory: Path) -> ClusterMetadata:
    metadata = ClusterMetadata()
    directory = log_directory / f"{METADATA_TOPIC}-0"
    if not directory.is_dir():
        return metadata
    from .metadata_replay import MetadataReplay  # brings the codec: a fifth of an audit's imports

    names = sorted(entry.name for entry in list_directory(directory))
    is_clean = (log_directory / CLEAN_SHUTDOWN_FILE).exists()
    replay = MetadataReplay(metadata, directory, is_clean=is_clean)
    snapshots = [name for name in names if name.endswith(_SNAPSHOT_SUFFIX)]
    if snapshots:
        replay.read_snapshot(snapshots[-1])
    replay.read_log([name for name in names if name.endswith(LOG_SUFFIX) and base_offset_of(name) is not None])
    return metadata
