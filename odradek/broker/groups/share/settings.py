"""The settings of a share group: its own config if it has one, else the coordinator's default.

Pure. Times in milliseconds. A group's own value is limited to the coordinator's present bounds. Source:
``GroupConfigManager``, ``GroupMetadataManager.shareGroupSessionTimeoutMs`` and its neighbours.
"""

from ..modern.groups import own_or_default
from .group import ShareGroups

SIMPLE = "simple"
"""The name of the only assignor."""


def session_timeout_ms(groups: ShareGroups, group_id: str) -> int:
    """How long a member may send no heartbeat before it is removed (``share.session.timeout.ms``)."""
    config, own = groups.config, groups.group_configs(group_id)
    bounds = config.group_share_min_session_timeout_ms, config.group_share_max_session_timeout_ms
    return own_or_default(own, "share.session.timeout.ms", config.group_share_session_timeout_ms, bounds)


def heartbeat_interval_ms(groups: ShareGroups, group_id: str) -> int:
    """The interval at which members shall send heartbeats (``share.heartbeat.interval.ms``)."""
    config, own = groups.config, groups.group_configs(group_id)
    bounds = config.group_share_min_heartbeat_interval_ms, config.group_share_max_heartbeat_interval_ms
    return own_or_default(own, "share.heartbeat.interval.ms", config.group_share_heartbeat_interval_ms, bounds)


def assignment_interval_ms(groups: ShareGroups, group_id: str) -> int:
    """The shortest interval between target assignments (``share.assignment.interval.ms``)."""
    config, own = groups.config, groups.group_configs(group_id)
    bounds = config.group_share_min_assignment_interval_ms, config.group_share_max_assignment_interval_ms
    return own_or_default(own, "share.assignment.interval.ms", config.group_share_assignment_interval_ms, bounds)
