"""The settings of the group coordinator, under Kafka's names. Source: ``GroupCoordinatorConfig``."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class GroupCoordinatorConfig:
    """What the coordinator may be told; defaults are Kafka's. Times in milliseconds, sizes in bytes."""

    group_min_session_timeout_ms: int = 6_000
    group_max_session_timeout_ms: int = 1_800_000
    group_initial_rebalance_delay_ms: int = 3_000
    group_max_size: int = 2_147_483_647
    new_member_join_timeout_ms: int = 300_000
    """How long a new member's parked JoinGroup is kept (not configurable in Kafka either)."""
    offset_metadata_max_bytes: int = 4_096
    offsets_retention_ms: int = 7 * 24 * 60 * 60 * 1000
    offsets_retention_check_interval_ms: int = 600_000
    offsets_topic_num_partitions: int = 50
