"""What is set for a consumer group: its own configs over the coordinator's, within the coordinator's bounds.

Pure. Times in milliseconds. Source: ``GroupConfigManager``, ``GroupConfig.evaluate``: what was set once stays within
bounds that have changed since.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .needs import HasConsumerGroups


def session_timeout_ms(core: "HasConsumerGroups", group_id: str) -> int:
    """How long a member may be silent (``consumer.session.timeout.ms``)."""
    config = core.config
    own = core.group_configs(group_id).get("consumer.session.timeout.ms")
    if own is None:
        return config.group_consumer_session_timeout_ms
    return _within(own, config.group_consumer_min_session_timeout_ms, config.group_consumer_max_session_timeout_ms)


def heartbeat_interval_ms(core: "HasConsumerGroups", group_id: str) -> int:
    """How often members are told to send heartbeats (``consumer.heartbeat.interval.ms``)."""
    config = core.config
    own = core.group_configs(group_id).get("consumer.heartbeat.interval.ms")
    if own is None:
        return config.group_consumer_heartbeat_interval_ms
    return _within(
        own, config.group_consumer_min_heartbeat_interval_ms, config.group_consumer_max_heartbeat_interval_ms
    )


def assignment_interval_ms(core: "HasConsumerGroups", group_id: str) -> int:
    """How long a target assignment stands at least (``consumer.assignment.interval.ms``)."""
    config = core.config
    own = core.group_configs(group_id).get("consumer.assignment.interval.ms")
    if own is None:
        return config.group_consumer_assignment_interval_ms
    return _within(
        own, config.group_consumer_min_assignment_interval_ms, config.group_consumer_max_assignment_interval_ms
    )


def _within(own: str, lowest: int, highest: int) -> int:
    return min(max(int(own), lowest), highest)
