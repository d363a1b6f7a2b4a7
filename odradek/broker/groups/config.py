"""The settings of the group coordinator, under Kafka's names. Source: ``GroupCoordinatorConfig``."""

from odradek.protocol.common.holder import holder


@holder()
class GroupCoordinatorConfig:
    """The configurable limits and times of the group coordinator, with Kafka's defaults. Milliseconds, bytes."""

    group_min_session_timeout_ms: int = 6_000
    group_max_session_timeout_ms: int = 1_800_000
    group_initial_rebalance_delay_ms: int = 3_000
    group_max_size: int = 2_147_483_647
    group_members_max_bytes: int = 16 << 20
    """``odradek.group.members.max.bytes``."""
    groups_members_max_bytes: int = 64 << 20
    """``odradek.groups.members.max.bytes``."""
    new_member_join_timeout_ms: int = 300_000
    """How long a new member's parked JoinGroup is kept (not configurable in Kafka either)."""
    offset_metadata_max_bytes: int = 4_096
    offsets_commit_timeout_ms: int = 5_000
    offsets_retention_ms: int = 7 * 24 * 60 * 60 * 1000
    offsets_retention_check_interval_ms: int = 600_000
    offsets_topic_num_partitions: int = 50
    offsets_topic_compression_codec: int = 0
    """The number of a compression type."""
    serves_consumer_protocol: bool = True
    """Whether consumer groups are served (``group.coordinator.rebalance.protocols`` names "consumer")."""
    group_consumer_assignors: tuple[str, ...] = ("uniform", "range")
    """Names of the modules of :mod:`.consumer.assignors`, the default first."""
    group_consumer_max_size: int = 2_147_483_647
    group_consumer_migration_policy: str = "bidirectional"
    group_consumer_session_timeout_ms: int = 45_000
    group_consumer_min_session_timeout_ms: int = 45_000
    group_consumer_max_session_timeout_ms: int = 60_000
    group_consumer_heartbeat_interval_ms: int = 5_000
    group_consumer_min_heartbeat_interval_ms: int = 5_000
    group_consumer_max_heartbeat_interval_ms: int = 15_000
    group_consumer_assignment_interval_ms: int = 1_000
    group_consumer_min_assignment_interval_ms: int = 0
    group_consumer_max_assignment_interval_ms: int = 15_000
    group_consumer_regex_refresh_interval_ms: int = 600_000
    group_share_max_size: int = 200
    group_share_session_timeout_ms: int = 45_000
    group_share_min_session_timeout_ms: int = 45_000
    group_share_max_session_timeout_ms: int = 60_000
    group_share_heartbeat_interval_ms: int = 5_000
    group_share_min_heartbeat_interval_ms: int = 5_000
    group_share_max_heartbeat_interval_ms: int = 15_000
    group_share_assignment_interval_ms: int = 1_000
    group_share_min_assignment_interval_ms: int = 0
    group_share_max_assignment_interval_ms: int = 15_000
    group_share_initialize_retry_interval_ms: int = 30_000
    """How long a share partition may be "initializing" before the persister is asked again."""
    serves_streams_protocol: bool = True
    """Whether streams groups are served (``group.coordinator.rebalance.protocols`` names "streams")."""
    group_streams_max_size: int = 2_147_483_647
    group_streams_session_timeout_ms: int = 45_000
    group_streams_min_session_timeout_ms: int = 45_000
    group_streams_max_session_timeout_ms: int = 60_000
    group_streams_heartbeat_interval_ms: int = 5_000
    group_streams_min_heartbeat_interval_ms: int = 5_000
    group_streams_max_heartbeat_interval_ms: int = 15_000
    group_streams_assignment_interval_ms: int = 1_000
    group_streams_min_assignment_interval_ms: int = 0
    group_streams_max_assignment_interval_ms: int = 15_000
    group_streams_initial_rebalance_delay_ms: int = 3_000
    group_streams_num_standby_replicas: int = 0
    group_streams_max_standby_replicas: int = 2
    group_streams_task_offset_interval_ms: int = 60_000
    group_streams_min_task_offset_interval_ms: int = 15_000
    group_streams_acceptable_recovery_lag: int = 10_000
    group_streams_rack_aware_assignment_tags: tuple[str, ...] = ()
