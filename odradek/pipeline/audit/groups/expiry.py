"""Computes when a group's committed offsets expire.

Pure. Offsets of a group with members do not expire here. (In Kafka they do if the group no longer subscribes to the
topic. The offsets topic alone does not have subscriptions.) Source: Kafka's OffsetExpirationConditionImpl,
ClassicGroup.offsetExpirationCondition, ConsumerGroup.offsetExpirationCondition; KIP-211.
"""

from collections.abc import Mapping

from ...tables.group_messages import GroupKind
from .facts import CommitHistory, LatestGroup

RETENTION_CONFIG = "offsets.retention.minutes"
DEFAULT_RETENTION_MINUTES = 10_080
MINUTE_MS = 60_000


def retention_ms(broker_configs: Mapping[str, str]) -> int:
    """The retention (ms) of an empty group's offsets: from the dynamic broker configs, else Kafka's default.

    server.properties is not in the log directory, so it is not read.
    """
    return int(broker_configs.get(RETENTION_CONFIG, DEFAULT_RETENTION_MINUTES)) * MINUTE_MS


def expires_at(offset: CommitHistory, state: LatestGroup | None, retention: int) -> int | None:
    """When a committed offset expires, ms since 1970; None while its group has members."""
    if state is not None and state.members > 0:
        return None
    commit = offset.commits[-1]
    if offset.expire_timestamp >= 0:
        return offset.expire_timestamp
    has_type = state is not None and state.kind is GroupKind.CLASSIC and bool(state.protocol_type)
    if state is not None and has_type and state.state_timestamp >= 0:
        return state.state_timestamp + retention
    return commit.timestamp + retention
