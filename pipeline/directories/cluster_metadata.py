"""The topics and configs of a cluster, as the metadata log of a log directory has them. Pure.

metadata_reader.py reads it.
"""

from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple


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
class DirectoryMetadata:
    """Topics by name; configs set for topics, for all brokers, and for one broker by its id, by Kafka's keys."""

    topics: dict[str, TopicFacts] = field(default_factory=dict)
    topic_configs: dict[str, dict[str, str]] = field(default_factory=dict)
    broker_configs: dict[str, str] = field(default_factory=dict)
    named_broker_configs: dict[str, dict[str, str]] = field(default_factory=dict)
    is_known: bool = False
    """Whether there was a metadata log at all."""
    damage: list[MetadataDamage] = field(default_factory=list)

    def configs_of_broker(self, broker_id: str | None) -> dict[str, str]:
        """A broker's dynamic configs: those of all brokers, overridden by its own (if ``broker_id`` is given)."""
        return self.broker_configs | self.named_broker_configs.get(broker_id or "", {})
