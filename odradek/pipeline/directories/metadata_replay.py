"""Replays the records of a metadata log, to get its topics and configs.

Reads whole files, each up to its first damage, and detects a log that lost its end. Never writes.
Source: Kafka's metadata records (TopicRecord, PartitionRecord, ConfigRecord, RemoveTopicRecord).
"""

from collections.abc import Sequence
from pathlib import Path

from odradek.protocol.errors import KafkaError, ProtocolError
from odradek.protocol.internal_records.metadata_serde import METADATA_RECORDS, frame_of
from odradek.protocol.messages.metadata_records import (
    ConfigRecord,
    PartitionChangeRecord,
    PartitionRecord,
    RemoveTopicRecord,
    TopicRecord,
)
from odradek.protocol.records.batch import check_crc, iterate_headers
from odradek.protocol.records.record import iterate_records
from odradek.storage.errors import CorruptCheckpointError
from odradek.storage.files.checkpoints import read_epoch_checkpoint
from odradek.storage.files.file_names import LEADER_EPOCH_CHECKPOINT
from odradek.storage.files.regular_files import fault_text

from .cluster_metadata import DirectoryMetadata, MetadataDamage, TopicFacts
from .file_access import PathFiles, is_gone, is_unreadable, read_file

_REPLAYED = frozenset(
    cls.API_KEY for cls in (TopicRecord, PartitionRecord, PartitionChangeRecord, ConfigRecord, RemoveTopicRecord)
)
"""The record types that are read. Others are skipped, also unknown ones of a newer Kafka."""
_TOPIC_RESOURCE = 2
_BROKER_RESOURCE = 4


class MetadataReplay:
    """Fills `metadata` from the snapshot and the log in `directory`, and adds damage and a lost end to it.

    `is_clean`: the broker was stopped cleanly, so the log must end with a whole batch.
    """

    def __init__(self, metadata: DirectoryMetadata, directory: Path, *, is_clean: bool) -> None:
        self._metadata = metadata
        self._directory = directory
        self._is_clean = is_clean
        self._by_id: dict[bytes, TopicFacts] = {}
        self._from_offset = 0
        self._end_offset = 0

    def read_snapshot(self, name: str) -> None:
        """Replays a snapshot, ``<end offset>-<epoch>.checkpoint``. Raises OSError."""
        self._read_file(self._directory / name, is_tail=False)
        self._from_offset = self._end_offset = int(name.partition("-")[0])

    def read_log(self, names: Sequence[str]) -> None:
        """Replays the segments in the order of offsets, and checks the start and end of the log. Raises OSError."""
        first = int(names[0].partition(".")[0]) if names else 0
        if first > self._from_offset:
            what = f"it begins at offset {first}, but the snapshot before it ends at {self._from_offset}"
            self._damaged(self._directory / names[0], 0, what)
        for name in names:
            self._read_file(self._directory / name, is_tail=name == names[-1])
        path = self._directory / LEADER_EPOCH_CHECKPOINT
        try:
            epochs = read_epoch_checkpoint(PathFiles(), path)
        except CorruptCheckpointError as error:
            self._damaged(path, 0, str(error))
            return
        except OSError as error:
            self._refused(path, error)
            return
        if epochs and epochs[-1][1] > self._end_offset:
            epoch, start = epochs[-1]
            what = f"the log ends at offset {self._end_offset}, but epoch {epoch} began at {start}: the end is lost"
            self._damaged(self._directory / (names[-1] if names else ""), -1, what)

    def _damaged(self, path: Path, position: int, what: str) -> None:
        self._metadata.damage.append(MetadataDamage(path, position, what))

    def _refused(self, path: Path, error: OSError) -> None:
        if is_gone(error) or not is_unreadable(error, path):
            raise error
        self._metadata.damage.append(MetadataDamage(path, 0, fault_text(error), is_refused=True))

    def _read_file(self, path: Path, *, is_tail: bool) -> None:
        """Replays the data records of a file, up to the first damage.

        A half-written end of the last segment after an unclean stop is not damage.
        """
        try:
            data = read_file(path)
        except OSError as error:
            self._refused(path, error)
            return
        position = end = 0
        try:
            for position, header in iterate_headers(data):
                check_crc(data, position, header)
                end = position + header.size_in_bytes
                self._end_offset = max(self._end_offset, header.next_offset)
                if header.is_control or header.last_offset < self._from_offset:
                    continue
                for record in iterate_records(data, header, position):
                    if record.value is not None and record.offset >= self._from_offset:
                        self._read_value(record.value)
        except (KafkaError, ProtocolError) as error:
            if is_tail and not self._is_clean and not any(data[position:]):
                return  # preallocated, or written before a power cut and never synced
            self._damaged(path, position, str(error))
            return
        if end < len(data) and (self._is_clean or not is_tail):
            self._damaged(path, end, f"the last {len(data) - end} bytes are not a complete batch")

    def _read_value(self, value: bytes) -> None:
        self._metadata.is_known = True
        if frame_of(value).record_type in _REPLAYED:
            self._replay(METADATA_RECORDS.decode(value)[0])

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
