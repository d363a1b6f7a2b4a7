"""From the records of a metadata log to what they say of topics and configs.

Reads whole files, each up to its first damage. Never writes. Source: Kafka's metadata records (TopicRecord,
PartitionRecord, ConfigRecord, RemoveTopicRecord) and MetadataRecordSerde.
"""

from pathlib import Path

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
from .cluster_metadata import ClusterMetadata, MetadataDamage, TopicFacts

_CLASSES = {
    cls.API_KEY: cls for cls in (TopicRecord, PartitionRecord, PartitionChangeRecord, ConfigRecord, RemoveTopicRecord)
}
_TOPIC_RESOURCE = 2
_BROKER_RESOURCE = 4


class MetadataReplay:
    """Fills the metadata, file after file."""

    def __init__(self, metadata: ClusterMetadata) -> None:
        self._metadata = metadata
        self._by_id: dict[bytes, TopicFacts] = {}

    def read_file(self, path: Path, from_offset: int) -> None:
        """Takes in the data records of a file, up to the first damage. A torn end is none: a broker was killed.

        Raises OSError.
        """
        data = path.read_bytes()
        position = 0
        try:
            for position, header in iterate_headers(data):
                check_crc(data, position, header)
                if header.is_control or header.last_offset < from_offset:
                    continue
                for record in iterate_records(data, header, position):
                    if record.value is not None and record.offset >= from_offset:
                        self._read_value(record.value)
        except (KafkaError, ProtocolError) as error:
            self._metadata.damage.append(MetadataDamage(path, position, str(error)))

    def _read_value(self, value: bytes) -> None:
        self._metadata.is_known = True
        message_class = _CLASSES.get(value[1]) if len(value) >= 3 and value[0] == 1 else None
        if message_class is not None:
            self._replay(decode(message_class, value[2], value, 3)[0])

    def _replay(self, message: object) -> None:
        metadata = self._metadata
        if isinstance(message, TopicRecord):
            facts = TopicFacts(message.name, message.topic_id)
            metadata.topics[message.name] = self._by_id[message.topic_id] = facts
        elif isinstance(message, PartitionRecord | PartitionChangeRecord):
            self._replay_partition(message)
        elif isinstance(message, RemoveTopicRecord):
            removed = self._by_id.pop(message.topic_id, None)
            if removed is not None:
                metadata.topics.pop(removed.name, None)
                metadata.topic_configs.pop(removed.name, None)
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
        metadata = self._metadata
        if record.resource_type == _TOPIC_RESOURCE:
            configs = metadata.topic_configs.setdefault(record.resource_name, {})
        elif record.resource_type == _BROKER_RESOURCE and not record.resource_name:
            configs = metadata.broker_configs
        elif record.resource_type == _BROKER_RESOURCE:
            configs = metadata.named_broker_configs.setdefault(record.resource_name, {})
        else:
            return
        if record.value is None:
            configs.pop(record.name, None)
        else:
            configs[record.name] = record.value
