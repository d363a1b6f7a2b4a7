"""What DescribeConfigs answers, as data. Source: Kafka's ConfigHelper, KafkaConfigSchema, DynamicBrokerConfig."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum

from .server_config import ServerConfig


class ConfigSource(IntEnum):
    """Where a value comes from: DescribeConfigsResponse's config source."""

    UNKNOWN = 0
    DYNAMIC_TOPIC_CONFIG = 1
    DYNAMIC_BROKER_CONFIG = 2
    DYNAMIC_DEFAULT_BROKER_CONFIG = 3
    STATIC_BROKER_CONFIG = 4
    DEFAULT_CONFIG = 5
    DYNAMIC_BROKER_LOGGER_CONFIG = 6
    DYNAMIC_CLIENT_METRICS_CONFIG = 7
    DYNAMIC_GROUP_CONFIG = 8


@dataclass(frozen=True, slots=True)
class Synonym:
    """One place a value may come from, in order of precedence."""

    name: str
    value: str | None
    source: ConfigSource


@dataclass(frozen=True, slots=True)
class DescribedConfig:
    """One entry of a DescribeConfigs answer; ``is_default`` is the field of version 0, ``config_type`` the wire's number."""

    name: str
    value: str | None
    source: ConfigSource
    read_only: bool
    is_sensitive: bool
    config_type: int
    synonyms: tuple[Synonym, ...]
    documentation: str | None

    @property
    def is_default(self) -> bool:
        """Whether nobody set it."""
        return self.source is ConfigSource.DEFAULT_CONFIG


def describe_topic(server: ServerConfig, overrides: Mapping[str, str]) -> list[DescribedConfig]:
    """Every topic key with what it is now for a topic with these overrides."""
    ...


def describe_broker(
    server: ServerConfig, cluster: Mapping[str, str], broker: Mapping[str, str]
) -> list[DescribedConfig]:
    """Every broker key: ``cluster`` and ``broker`` are the dynamic configs for all brokers and for this one."""
    ...


def describe_cluster_defaults(cluster: Mapping[str, str]) -> list[DescribedConfig]:
    """The resource with an empty name: only the dynamic cluster-wide configs that are set."""
    ...


def describe_group(server: ServerConfig, overrides: Mapping[str, str]) -> list[DescribedConfig]:
    """Every group key of one group."""
    ...


def describe_client_metrics(overrides: Mapping[str, str]) -> list[DescribedConfig]:
    """Every key of one client metrics subscription."""
    ...
