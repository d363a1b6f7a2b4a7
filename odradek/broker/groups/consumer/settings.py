"""The settings of a consumer group: its own config if it has one, else the coordinator's default.

Pure. Times in milliseconds. A group's own value is limited to the coordinator's present bounds. Source:
``GroupConfigManager``, ``GroupConfig.evaluate``.
"""

from ...config.definition import group_keys
from ...config.stored import served_value
from .registry import GroupRegistry


def session_timeout_ms(groups: GroupRegistry, group_id: str) -> int:
    """How long a member may send no heartbeat before it is removed (``consumer.session.timeout.ms``)."""
    config = groups.config
    own = _own(groups, group_id, "consumer.session.timeout.ms")
    if own is None:
        return config.group_consumer_session_timeout_ms
    return _within(own, config.group_consumer_min_session_timeout_ms, config.group_consumer_max_session_timeout_ms)


def heartbeat_interval_ms(groups: GroupRegistry, group_id: str) -> int:
    """The interval at which members shall send heartbeats (``consumer.heartbeat.interval.ms``)."""
    config = groups.config
    own = _own(groups, group_id, "consumer.heartbeat.interval.ms")
    if own is None:
        return config.group_consumer_heartbeat_interval_ms
    return _within(
        own, config.group_consumer_min_heartbeat_interval_ms, config.group_consumer_max_heartbeat_interval_ms
    )


def assignment_interval_ms(groups: GroupRegistry, group_id: str) -> int:
    """The shortest interval between target assignments (``consumer.assignment.interval.ms``)."""
    config = groups.config
    own = _own(groups, group_id, "consumer.assignment.interval.ms")
    if own is None:
        return config.group_consumer_assignment_interval_ms
    return _within(
        own, config.group_consumer_min_assignment_interval_ms, config.group_consumer_max_assignment_interval_ms
    )


def _own(groups: GroupRegistry, group_id: str, key: str) -> int | None:
    """Returns the group's own value; None if it has none, or an invalid one."""
    text = groups.group_configs(group_id).get(key)
    value = None if text is None else served_value(group_keys()[key], text)
    return value if isinstance(value, int) else None


def _within(own: int, lowest: int, highest: int) -> int:
    return min(max(own, lowest), highest)
