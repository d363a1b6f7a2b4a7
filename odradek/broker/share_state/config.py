"""The settings of the share coordinator, from the broker's keys. Pure. Source: ``ShareCoordinatorConfig``."""

from odradek.protocol.common.holder import holder
from odradek.protocol.names.topics import SHARE_STATE_TOPIC
from odradek.protocol.records.compression import CompressionType

from ..config.server_config import ServerConfig
from ..coordinator.partitioning import partition_count
from ..metadata.image.image import MetadataImage


@holder()
class ShareCoordinatorConfig:
    """The settings; defaults are Kafka's. Times in milliseconds."""

    state_topic_num_partitions: int = 50
    state_topic_compression_codec: int = 0
    snapshot_update_records_per_snapshot: int = 500
    """A snapshot follows this many updates."""
    write_timeout_ms: int = 5_000
    """How long a request waits until its records are durable."""
    state_topic_prune_interval_ms: int = 300_000
    cold_partition_snapshot_interval_ms: int = 300_000


CODEC_KEY = "share.coordinator.state.topic.compression.codec"


def share_settings(config: ServerConfig, image: MetadataImage) -> ShareCoordinatorConfig:
    """The configuration of the share coordinator. ``image`` has the partition count of an existing topic.

    An unknown compression codec is taken as none: the broker has started without a share group, and goes on.
    """
    codec = config.get_int(CODEC_KEY)
    return ShareCoordinatorConfig(
        state_topic_num_partitions=partition_count(
            image, SHARE_STATE_TOPIC, config.get_int("share.coordinator.state.topic.num.partitions")
        ),
        state_topic_compression_codec=codec if codec in tuple(CompressionType) else CompressionType.NONE,
        snapshot_update_records_per_snapshot=config.get_int("share.coordinator.snapshot.update.records.per.snapshot"),
        write_timeout_ms=config.get_int("share.coordinator.write.timeout.ms"),
        state_topic_prune_interval_ms=config.get_int("share.coordinator.state.topic.prune.interval.ms"),
        cold_partition_snapshot_interval_ms=config.get_int("share.coordinator.cold.partition.snapshot.interval.ms"),
    )
