"""Topic configs: validation, and the storage configuration of a log. Source: Kafka's LogConfig and TopicConfig."""

from collections.abc import Mapping

from ..storage.log_config import LogConfig
from .server_config import ServerConfig


def validate_topic_configs(overrides: Mapping[str, str | None], server: ServerConfig) -> None:
    """Checks the overrides of one topic as Kafka does. Raises KafkaError(INVALID_CONFIG) with Kafka's text."""
    ...


def log_config_for(server: ServerConfig, topic_overrides: Mapping[str, str]) -> LogConfig:
    """The log configuration of a topic: Kafka's defaults, then the server's synonyms, then the topic's own."""
    ...
