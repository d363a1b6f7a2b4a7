"""What a log directory's own metadata log says of topics: ids, replicas, configs.

Reads ``__cluster_metadata-0``: the newest snapshot, then the log behind it (metadata_replay.py). Never writes. A
directory without it says nothing (a broker whose controllers are elsewhere keeps a copy, too).
"""

from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from ..storage.file_names import METADATA_TOPIC

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
    """A batch of the metadata log that can't be read: from there on the file was not."""

    path: Path
    position: int
    message: str


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
    """What the metadata in a log directory says; as far as it can be read. Raises OSError."""
    metadata = ClusterMetadata()
    directory = log_directory / f"{METADATA_TOPIC}-0"
    if not directory.is_dir():
        return metadata
    from .metadata_replay import MetadataReplay  # brings the codec: a fifth of an audit's imports

    replay = MetadataReplay(metadata)
    snapshots = sorted(path for path in directory.iterdir() if path.name.endswith(_SNAPSHOT_SUFFIX))
    behind = 0
    if snapshots:
        behind = int(snapshots[-1].name.partition("-")[0])
        replay.read_file(snapshots[-1], 0)
    for path in sorted(directory.glob("*.log")):
        replay.read_file(path, behind)
    return metadata
