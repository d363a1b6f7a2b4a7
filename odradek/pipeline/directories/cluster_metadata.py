"""Describes the topics and configs of a cluster, as the metadata log in a log directory has them. Pure.

metadata_reader.py reads that log.
"""

from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple


@dataclass(slots=True)
class TopicFacts:
    """One topic: its 16-byte id, and for each partition the replicas' broker ids and the ids of their log directories.
    Records of brokers before Kafka 3.7 have no directory ids."""

    name: str
    topic_id: bytes
    brokers: dict[int, list[int]] = field(default_factory=dict)
    directories: dict[int, list[bytes]] = field(default_factory=dict)

    @property
    def replicas(self) -> dict[int, int]:
        """The number of replicas of each partition."""
        return {partition: len(brokers) for partition, brokers in self.brokers.items()}


class MetadataDamage(NamedTuple):
    """Damage in a file of the metadata log from a position (bytes) on. `is_refused`: the system can't read the file."""

    path: Path
    position: int
    message: str
    is_refused: bool = False


@dataclass(slots=True)
class DirectoryMetadata:
    """Topics by name, and dynamic configs of topics, of all brokers, and of single brokers by broker id."""

    topics: dict[str, TopicFacts] = field(default_factory=dict)
    topic_configs: dict[str, dict[str, str]] = field(default_factory=dict)
    broker_configs: dict[str, str] = field(default_factory=dict)
    named_broker_configs: dict[str, dict[str, str]] = field(default_factory=dict)
    is_known: bool = False
    """Whether the directory has a metadata log with records."""
    damage: list[MetadataDamage] = field(default_factory=list)

    def configs_of_broker(self, broker_id: str | None) -> dict[str, str]:
        """A broker's dynamic configs: those of all brokers, overridden by its own (if ``broker_id`` is given)."""
        return self.broker_configs | self.named_broker_configs.get(broker_id or "", {})
