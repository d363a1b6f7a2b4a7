"""Each change of a partition in the metadata log of a controller, read from its directory while it runs."""

from pathlib import Path
from typing import NamedTuple

from odradek.broker.metadata.image.image import MetadataDelta, MetadataImage, PartitionImage
from odradek.broker.metadata.image.replay import replay
from odradek.broker.metadata.log.log_reader import checked_records
from odradek.protocol.messages.metadata_records import PartitionChangeRecord, PartitionRecord
from odradek.protocol.records.batch import iterate_headers

METADATA = "__cluster_metadata-0"


class PartitionChange(NamedTuple):
    """The state of a partition after one record of the log. ``place``: its index in the topic."""

    topic: str
    place: int
    partition: PartitionImage


class MetadataHistory:
    """All records of a log from which no snapshot has removed any yet. :meth:`read` adds new ones."""

    def __init__(self, log_dir: Path) -> None:
        """``log_dir``: of a controller, or of a broker with a copy of the log."""
        self.image = MetadataImage()
        self.changes: list[PartitionChange] = []
        self._directory = log_dir / METADATA
        self._positions: dict[Path, int] = {}

    def read(self) -> MetadataImage:
        """Replays the records since the last call."""
        for path in sorted(self._directory.glob("*.log")):
            with path.open("rb") as file:
                file.seek(self._positions.get(path, 0))
                data = file.read()
            whole = data[: whole_batches_size(data)]
            for record in checked_records(whole, path):
                message = record.message
                replay(self.image, message, MetadataDelta(), record.version)
                if isinstance(message, PartitionRecord | PartitionChangeRecord):
                    topic = self.image.topics_by_id[message.topic_id]
                    index = message.partition_id
                    self.changes.append(PartitionChange(topic.name, index, topic.partitions[index]))
            self._positions[path] = self._positions.get(path, 0) + len(whole)
        return self.image

    def of(self, topic: str, index: int = 0) -> list[PartitionImage]:
        """The states of one partition, in order."""
        return [one.partition for one in self.changes if (one.topic, one.place) == (topic, index)]


def whole_batches_size(data: bytes) -> int:
    """The number of bytes in complete batches of ``data``. The last batch may still be being written."""
    end = 0
    for position, header in iterate_headers(data):
        end = position + header.size_in_bytes
    return end
