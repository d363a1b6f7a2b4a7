"""The settings of a share group: its own config if it has one, else the coordinator's default.

Pure. Times in milliseconds. A group's own value is limited to the coordinator's present bounds. Source:
``GroupConfigManager``, ``GroupMetadataManager.shareGroupSessionTimeoutMs`` and its neighbours.
"""

from ..modern.own_settings import own_value, within
from .group import ShareGroups

SIMPLE = "simple"
"""The name of the only assignor."""


def session_timeout_ms(groups: ShareGroups, group_id: str) -> int:
    """How long a member may send no heartbeat before it is removed (``share.session.timeout.ms``)."""
    config = groups.config
    own = own_value(groups.group_configs(group_id), "share.session.timeout.ms")
    if own is None:
        return config.group_share_session_timeout_ms
    return within(own, config.group_share_min_session_timeout_ms, config.group_share_max_session_timeout_ms)


def heartbeat_interval_ms(groups: ShareGroups, group_id: str) -> int:
    """The interval at which members shall send heartbeats (``share.heartbeat.interval.ms``)."""
    config = groups.config
    own = own_value(groups.group_configs(group_id), "share.heartbeat.interval.ms")
    if own is None:
        return config.group_share_heartbeat_interval_ms
    return within(own, config.group_share_min_heartbeat_interval_ms, config.group_share_max_heartbeat_interval_ms)


def assignment_interval_ms(groups: ShareGroups, group_id: str) -> int:
    """The shortest interval between target assignments (``share.assignment.interval.ms``)."""
    config = groups.config
    own = own_value(groups.group_configs(group_id), "share.assignment.interval.ms")
    if own is None:
        return config.group_share_assignment_interval_ms
    return within(own, config.group_share_min_assignment_interval_ms, config.group_share_max_assignment_interval_ms)
