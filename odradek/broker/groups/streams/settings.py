"""The settings of a streams group: its own config if it has one, else the coordinator's default.

Pure. Times in milliseconds. A group's own value is limited to the coordinator's present bounds. Source:
``GroupConfigManager``, ``GroupMetadataManager.streamsGroupSessionTimeoutMs`` and its neighbours.
"""

from collections.abc import Mapping

from ..modern.groups import own_list, own_or_default
from .group import StreamsGroups

STICKY = "sticky"
"""The name of the only assignor."""
NUM_STANDBY_REPLICAS = "num.standby.replicas"
RACK_AWARE_ASSIGNMENT_TAGS = "rack.aware.assignment.tags"
HIGHEST_INT = 2**31 - 1


def session_timeout_ms(groups: StreamsGroups, group_id: str) -> int:
    """How long a member may send no heartbeat before it is removed (``streams.session.timeout.ms``)."""
    config, own = groups.config, groups.group_configs(group_id)
    bounds = config.group_streams_min_session_timeout_ms, config.group_streams_max_session_timeout_ms
    return own_or_default(own, "streams.session.timeout.ms", config.group_streams_session_timeout_ms, bounds)


def heartbeat_interval_ms(groups: StreamsGroups, group_id: str) -> int:
    """The interval at which members shall send heartbeats (``streams.heartbeat.interval.ms``)."""
    config, own = groups.config, groups.group_configs(group_id)
    bounds = config.group_streams_min_heartbeat_interval_ms, config.group_streams_max_heartbeat_interval_ms
    return own_or_default(own, "streams.heartbeat.interval.ms", config.group_streams_heartbeat_interval_ms, bounds)


def assignment_interval_ms(groups: StreamsGroups, group_id: str) -> int:
    """The shortest interval between target assignments (``streams.assignment.interval.ms``)."""
    config, own = groups.config, groups.group_configs(group_id)
    bounds = config.group_streams_min_assignment_interval_ms, config.group_streams_max_assignment_interval_ms
    return own_or_default(own, "streams.assignment.interval.ms", config.group_streams_assignment_interval_ms, bounds)


def initial_rebalance_delay_ms(groups: StreamsGroups, group_id: str) -> int:
    """How long a group without members waits for more of them (``streams.initial.rebalance.delay.ms``)."""
    default = groups.config.group_streams_initial_rebalance_delay_ms
    return own_or_default(groups.group_configs(group_id), "streams.initial.rebalance.delay.ms", default)


def task_offset_interval_ms(groups: StreamsGroups, group_id: str) -> int:
    """The interval at which members shall report the offsets of their tasks (``streams.task.offset.interval.ms``)."""
    config, own = groups.config, groups.group_configs(group_id)
    bounds = config.group_streams_min_task_offset_interval_ms, HIGHEST_INT
    return own_or_default(own, "streams.task.offset.interval.ms", config.group_streams_task_offset_interval_ms, bounds)


def acceptable_recovery_lag(groups: StreamsGroups, group_id: str) -> int:
    """The number of records by which a task's state may lag behind and still count as up to date
    (``streams.acceptable.recovery.lag``)."""
    default = groups.config.group_streams_acceptable_recovery_lag
    return own_or_default(groups.group_configs(group_id), "streams.acceptable.recovery.lag", default)


def assignment_configs(groups: StreamsGroups, group_id: str) -> Mapping[str, str]:
    """Returns the settings on which the target assignment depends, as they are stored with the group's epoch. A change
    of them raises the epoch."""
    config, own = groups.config, groups.group_configs(group_id)
    bounds = 0, config.group_streams_max_standby_replicas
    standbys = own_or_default(own, "streams.num.standby.replicas", config.group_streams_num_standby_replicas, bounds)
    configs = {NUM_STANDBY_REPLICAS: str(standbys)}
    tags = own_list(own, "streams.rack.aware.assignment.tags")
    if tags is None:
        tags = config.group_streams_rack_aware_assignment_tags
    if tags:
        configs[RACK_AWARE_ASSIGNMENT_TAGS] = ",".join(tags)
    return configs
