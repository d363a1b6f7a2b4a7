"""What a log directory's own metadata log says of topics: ids, replicas, configs.

Reads ``__cluster_metadata-0``: the newest snapshot, then the log behind it. Never writes. A directory without it says
nothing (a broker whose controllers are elsewhere keeps a copy, too). Source: Kafka's metadata records (TopicRecord,
PartitionRecord, ConfigRecord, RemoveTopicRecord) and MetadataRecordSerde.
"""

from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from ..protocol.codec import decode
from ..protocol.errors import KafkaError, ProtocolError
from ..protocol.messages.metadata_records import (
    ConfigRecord,
    PartitionChangeRecord,
    PartitionRecord,
    RemoveTopicRecord,
    TopicRecord,
)
from ..protocol.records.batch import check_crc, iterate_headers
from ..protocol.records.record import iterate_records
from ..storage.file_names import METADATA_TOPIC

_CLASSES = {
    cls.API_KEY: cls for cls in (TopicRecord, PartitionRecord, PartitionChangeRecord, ConfigRecord, RemoveTopicRecord)
}
_TOPIC_RESOURCE = 2
_BROKER_RESOURCE = 4
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
    _by_id: dict[bytes, TopicFacts] = field(default_factory=dict)

    def replay(self, message: object) -> None:
        """Takes in one record."""
        if isinstance(message, TopicRecord):
            facts = TopicFacts(message.name, message.topic_id)
            self.topics[message.name] = self._by_id[message.topic_id] = facts
        elif isinstance(message, PartitionRecord | PartitionChangeRecord):
            self._replay_partition(message)
        elif isinstance(message, RemoveTopicRecord):
            removed = self._by_id.pop(message.topic_id, None)
            if removed is not None:
                self.topics.pop(removed.name, None)
                self.topic_configs.pop(removed.name, None)
        elif isinstance(message, ConfigRecord):
            self._replay_config(message)

    def _replay_partition(self, record: PartitionRecord | PartitionChangeRecord) -> None:
        facts = self._by_id.get(record.topic_id)
        if facts is None:
            return
        if record.replicas is not None:
            facts.brokers[record.partition_id] = list(record.replicas)
        if record.directories is not None:
            facts.directories[record.partition_id] = list(record.directories)

    def _replay_config(self, record: ConfigRecord) -> None:
        if record.resource_type == _TOPIC_RESOURCE:
            configs = self.topic_configs.setdefault(record.resource_name, {})
        elif record.resource_type == _BROKER_RESOURCE and not record.resource_name:
            configs = self.broker_configs
        elif record.resource_type == _BROKER_RESOURCE:
            configs = self.named_broker_configs.setdefault(record.resource_name, {})
        else:
            return
        if record.value is None:
            configs.pop(record.name, None)
        else:
            configs[record.name] = record.value

    def configs_of_broker(self, broker_id: str | None) -> dict[str, str]:
        """What a broker's dynamic configuration says: its own (None: of no broker) before that of all."""
        return self.broker_configs | self.named_broker_configs.get(broker_id or "", {})


def read_cluster_metadata(log_directory: Path) -> ClusterMetadata:
    """What the metadata in a log directory says; as far as it can be read. Raises OSError."""
    metadata = ClusterMetadata()
    directory = log_directory / f"{METADATA_TOPIC}-0"
    if not directory.is_dir():
        return metadata
    snapshots = sorted(path for path in directory.iterdir() if path.name.endswith(_SNAPSHOT_SUFFIX))
    behind = 0
    if snapshots:
        behind = int(snapshots[-1].name.partition("-")[0])
        _replay_file(metadata, snapshots[-1], 0)
    for path in sorted(directory.glob("*.log")):
        _replay_file(metadata, path, behind)
    return metadata


def _replay_file(metadata: ClusterMetadata, path: Path, from_offset: int) -> None:
    """Takes in the data records of a file, up to the first damage. A torn end is none: a broker was killed."""
    data = path.read_bytes()
    position = 0
    try:
        for position, header in iterate_headers(data):
            check_crc(data, position, header)
            if header.is_control or header.last_offset < from_offset:
                continue
            for record in iterate_records(data, header, position):
                if record.value is not None and record.offset >= from_offset:
                    _replay_value(metadata, record.value)
    except (KafkaError, ProtocolError) as error:
        metadata.damage.append(MetadataDamage(path, position, str(error)))


def _replay_value(metadata: ClusterMetadata, value: bytes) -> None:
    metadata.is_known = True
    message_class = _CLASSES.get(value[1]) if len(value) >= 3 and value[0] == 1 else None
    if message_class is not None:
        metadata.replay(decode(message_class, value[2], value, 3)[0])
