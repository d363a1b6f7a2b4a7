"""The settings of the share coordinator, under Kafka's names. Source: ``ShareCoordinatorConfig``."""

from odradek.protocol.common.holder import holder


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
