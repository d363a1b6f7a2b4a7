"""The configuration of the group coordinator, from the broker's keys.

Pure. Owns: the list of keys that it reads. Never does: reading them again after a change. Source:
``GroupCoordinatorConfig``.
"""

from collections.abc import Iterable
from typing import Any

from odradek.protocol.names.topics import OFFSETS_TOPIC
from odradek.protocol.records.compression import CompressionType

from ..config.errors import ConfigError
from ..config.server_config import ServerConfig
from ..coordinator.partitioning import partition_count
from ..metadata.image.image import MetadataImage
from .config import GroupCoordinatorConfig

CONSUMER_GROUP_KEYS = (
    "group.consumer.max.size",
    "group.consumer.session.timeout.ms",
    "group.consumer.min.session.timeout.ms",
    "group.consumer.max.session.timeout.ms",
    "group.consumer.heartbeat.interval.ms",
    "group.consumer.min.heartbeat.interval.ms",
    "group.consumer.max.heartbeat.interval.ms",
    "group.consumer.assignment.interval.ms",
    "group.consumer.min.assignment.interval.ms",
    "group.consumer.max.assignment.interval.ms",
    "group.consumer.regex.refresh.interval.ms",
)
SHARE_GROUP_KEYS = (
    "group.share.max.size",
    "group.share.session.timeout.ms",
    "group.share.min.session.timeout.ms",
    "group.share.max.session.timeout.ms",
    "group.share.heartbeat.interval.ms",
    "group.share.min.heartbeat.interval.ms",
    "group.share.max.heartbeat.interval.ms",
    "group.share.assignment.interval.ms",
    "group.share.min.assignment.interval.ms",
    "group.share.max.assignment.interval.ms",
    "group.share.initialize.retry.interval.ms",
)
STREAMS_GROUP_KEYS = (
    "group.streams.max.size",
    "group.streams.session.timeout.ms",
    "group.streams.min.session.timeout.ms",
    "group.streams.max.session.timeout.ms",
    "group.streams.heartbeat.interval.ms",
    "group.streams.min.heartbeat.interval.ms",
    "group.streams.max.heartbeat.interval.ms",
    "group.streams.assignment.interval.ms",
    "group.streams.min.assignment.interval.ms",
    "group.streams.max.assignment.interval.ms",
    "group.streams.initial.rebalance.delay.ms",
    "group.streams.num.standby.replicas",
    "group.streams.max.standby.replicas",
    "group.streams.task.offset.interval.ms",
    "group.streams.min.task.offset.interval.ms",
    "group.streams.acceptable.recovery.lag",
)
SHARE_ASSIGNORS = ("simple", "org.apache.kafka.coordinator.group.assignor.SimpleAssignor")
"""Names in group.share.assignors of the only assignor of share groups."""
STREAMS_ASSIGNORS = ("sticky",)
"""Names in group.streams.assignors of the only assignor of streams groups."""
ASSIGNORS = {
    "uniform": "uniform",
    "range": "range",
    "org.apache.kafka.coordinator.group.assignor.UniformAssignor": "uniform",
    "org.apache.kafka.coordinator.group.assignor.RangeAssignor": "range",
}
"""Names in group.consumer.assignors -> the names that clients use."""


def assignor_names(configured: Iterable[str]) -> tuple[str, ...]:
    """Returns the configured assignors, the default first. Raises ConfigError for an unknown one."""
    unknown = [name for name in configured if name not in ASSIGNORS]
    if unknown:
        raise ConfigError(f"group.consumer.assignors: {unknown[0]} is not a known assignor; uniform and range are")
    return tuple(ASSIGNORS[name] for name in configured)


def group_settings(config: ServerConfig, image: MetadataImage) -> GroupCoordinatorConfig:
    """Returns the configuration of the group coordinator. Raises ConfigError.

    ``image`` has the partition count of the topic, if it exists.
    """
    _check_share_assignors(config.get_list("group.share.assignors"))
    _check_streams_assignors(config.get_list("group.streams.assignors"))
    settings: dict[str, Any] = {
        "group_min_session_timeout_ms": config.get_int("group.min.session.timeout.ms"),
        "group_max_session_timeout_ms": config.get_int("group.max.session.timeout.ms"),
        "group_initial_rebalance_delay_ms": config.get_int("group.initial.rebalance.delay.ms"),
        "group_max_size": config.get_int("group.max.size"),
        "group_members_max_bytes": config.get_int("odradek.group.members.max.bytes"),
        "groups_members_max_bytes": config.get_int("odradek.groups.members.max.bytes"),
        "serves_consumer_protocol": "consumer" in config.get_list("group.coordinator.rebalance.protocols"),
        "group_consumer_assignors": assignor_names(config.get_list("group.consumer.assignors")),
        "group_consumer_migration_policy": config.get_string("group.consumer.migration.policy").lower(),
        **{
            key.replace(".", "_"): config.get_int(key)
            for key in CONSUMER_GROUP_KEYS + SHARE_GROUP_KEYS + STREAMS_GROUP_KEYS
        },
        "serves_streams_protocol": "streams" in config.get_list("group.coordinator.rebalance.protocols"),
        "group_streams_rack_aware_assignment_tags": tuple(config.get_list("group.streams.rack.aware.assignment.tags")),
        "offset_metadata_max_bytes": config.get_int("offset.metadata.max.bytes"),
        "offsets_commit_timeout_ms": config.get_int("offsets.commit.timeout.ms"),
        "offsets_retention_ms": config.get_int("offsets.retention.minutes") * 60_000,
        "offsets_retention_check_interval_ms": config.get_int("offsets.retention.check.interval.ms"),
        "offsets_topic_compression_codec": _compression_codec(config.get_int("offsets.topic.compression.codec")),
        "offsets_topic_num_partitions": partition_count(
            image, OFFSETS_TOPIC, config.get_int("offsets.topic.num.partitions")
        ),
    }
    return GroupCoordinatorConfig(**settings)


def _check_share_assignors(configured: Iterable[str]) -> None:
    """Raises ConfigError for an unknown assignor of share groups."""
    unknown = [name for name in configured if name not in SHARE_ASSIGNORS]
    if unknown:
        raise ConfigError(f"group.share.assignors: {unknown[0]} is not a known assignor; simple is")


def _check_streams_assignors(configured: Iterable[str]) -> None:
    """Raises ConfigError for an unknown assignor of streams groups."""
    unknown = [name for name in configured if name not in STREAMS_ASSIGNORS]
    if unknown:
        raise ConfigError(f"group.streams.assignors: {unknown[0]} is not a known assignor; sticky is")


def _compression_codec(number: int) -> int:
    """Returns the number if it is a compression type's. Raises ConfigError otherwise."""
    if number not in tuple(CompressionType):
        raise ConfigError(f"offsets.topic.compression.codec: {number} is not a compression type; 0 to 4 are")
    return number
