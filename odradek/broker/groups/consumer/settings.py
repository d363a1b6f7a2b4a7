"""The settings of a consumer group: its own config if it has one, else the coordinator's default.

Pure. Times in milliseconds. A group's own value is limited to the coordinator's present bounds. Source:
``GroupConfigManager``, ``GroupConfig.evaluate``.
"""

from ..modern.groups import own_or_default
from .registry import GroupRegistry


def session_timeout_ms(groups: GroupRegistry, group_id: str) -> int:
    """How long a member may send no heartbeat before it is removed (``consumer.session.timeout.ms``)."""
    config, own = groups.config, groups.group_configs(group_id)
    bounds = config.group_consumer_min_session_timeout_ms, config.group_consumer_max_session_timeout_ms
    return own_or_default(own, "consumer.session.timeout.ms", config.group_consumer_session_timeout_ms, bounds)


def heartbeat_interval_ms(groups: GroupRegistry, group_id: str) -> int:
    """The interval at which members shall send heartbeats (``consumer.heartbeat.interval.ms``)."""
    config, own = groups.config, groups.group_configs(group_id)
    bounds = config.group_consumer_min_heartbeat_interval_ms, config.group_consumer_max_heartbeat_interval_ms
    return own_or_default(own, "consumer.heartbeat.interval.ms", config.group_consumer_heartbeat_interval_ms, bounds)


def assignment_interval_ms(groups: GroupRegistry, group_id: str) -> int:
    """The shortest interval between target assignments (``consumer.assignment.interval.ms``)."""
    config, own = groups.config, groups.group_configs(group_id)
    bounds = config.group_consumer_min_assignment_interval_ms, config.group_consumer_max_assignment_interval_ms
    return own_or_default(own, "consumer.assignment.interval.ms", config.group_consumer_assignment_interval_ms, bounds)
