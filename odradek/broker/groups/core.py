"""The group coordinator of one partition of ``__consumer_offsets``: decisions and replay, no waiting and no writing.

Owns: the groups and offsets of the partition. Never does: I/O, reading a clock, choosing at random (each event brings
the time, ``new_uuid`` makes member ids). Invariants: durable state (``groups.stored``, ``offsets``) changes in
:meth:`GroupCore.replay` alone. Live groups (sessions, parked requests, rebalances) are built from it after loading. A
Stable classic group has the content of its last record. Source: ``GroupCoordinatorShard``, ``GroupMetadataManager``.
"""

from collections.abc import Callable, Mapping

from odradek.protocol.common.lazy_imports import lazy_imports
from odradek.protocol.errors import ErrorCode
from odradek.protocol.messages.group_records import (
    GroupMetadataKey,
    GroupMetadataValue,
    OffsetCommitKey,
    OffsetCommitValue,
)
from odradek.protocol.messages.groups import JoinGroupResponse, SyncGroupResponse

from ..coordinator.effects import SetTimer
from ..metrics.counts import GroupCounts
from .classic.group import ClassicGroup, GroupState
from .classic.member import ClassicMember
from .classic.rebalance import prepare
from .classic.timeouts import initial_join_due, join_due, member_expired, sync_due
from .config import GroupCoordinatorConfig
from .consumer.registry import GroupRegistry
from .effects import (
    EXPIRATION_KEY,
    ExpirationDue,
    GroupEffects,
    InitialJoinDue,
    JoinDue,
    MemberExpired,
    ShareSessionExpired,
    ShareTargetDue,
    StreamsDelayOver,
    StreamsRebalanceDue,
    StreamsSessionExpired,
    StreamsTargetDue,
    SyncDue,
    TimerEvent,
)
from .memory import GroupMemory
from .modern.topics import GroupTopics, no_topics
from .offsets.expiration import Expiration
from .offsets.store import OffsetStore
from .records import SHARE_GROUP_TYPES, STREAMS_GROUP_TYPES, CoordinatorRecord, decode_record

with lazy_imports:
    from .consumer import lifecycle as consumer_lifecycle
    from .consumer import replay as consumer_replay
    from .share import lifecycle as share_lifecycle
    from .share import replay as share_replay
    from .streams import lifecycle as streams_lifecycle
    from .streams import replay as streams_replay

# The modules of consumer groups are imported when the first such group appears: a broker without one starts faster.


class GroupCore:
    """Groups and offsets of one partition, and the handling of their records and timers."""

    __slots__ = ("expiration", "groups", "offsets")

    def __init__(
        self,
        config: GroupCoordinatorConfig,
        new_uuid: Callable[[], str],
        topics: GroupTopics | None = None,
        group_configs: Callable[[str], Mapping[str, str]] = lambda _: {},
        memory: GroupMemory | None = None,
        counts: GroupCounts | None = None,
    ) -> None:
        """``new_uuid`` returns the text of a fresh UUID. ``topics``: the topics that groups subscribe to.

        ``group_configs`` returns the configs of a group by its id. ``memory`` (the bytes of members) and ``counts`` are
        shared with the other partitions.
        """
        self.groups = GroupRegistry(
            config, new_uuid, memory or GroupMemory(), topics or no_topics(), group_configs, counts or GroupCounts()
        )
        self.offsets = OffsetStore()
        self.expiration: Expiration | None = None
        """The search for expired offsets that is under way."""

    def effects(self, now_ms: int) -> GroupEffects:
        """An empty list of effects for an event at ``now_ms``."""
        return GroupEffects(now_ms, self.groups.counts)

    # --- durable state

    def load(self, key: bytes | None, value: bytes | None, offset: int, producer_id: int, now_ms: int) -> None:
        """Replays a stored record. A record of an unknown type is skipped. Raises ProtocolError."""
        record = decode_record(key, value)
        if record is not None:
            self.replay(record, offset, producer_id, now_ms)

    def replay(self, record: CoordinatorRecord, offset: int, producer_id: int, now_ms: int) -> None:
        """Replays the record at ``offset`` of the log, which was just appended or is being loaded."""
        key = record.key
        value = record.value
        if isinstance(key, OffsetCommitKey):
            if value is None:
                self.offsets.remove(key.group, key.topic, key.partition)
                return
            assert isinstance(value, OffsetCommitValue)
            if not self.groups.is_known(key.group):
                # A commit without a member: a simple group, which has no protocol type.
                self.groups.classic[key.group] = ClassicGroup(key.group, now_ms, self.groups.memory)
            self.offsets.put(key.group, key.topic, key.partition, value, offset, producer_id)
        elif isinstance(key, GroupMetadataKey):
            if value is None:
                self.groups.stored.pop(key.group, None)
                self.groups.classic.pop(key.group, None)
            else:
                assert isinstance(value, GroupMetadataValue)
                self.groups.stored[key.group] = value
                # The group may have been of another kind until now.
                self.groups.consumer.pop(key.group, None)
                self.groups.streams.pop(key.group, None)
                self.groups.share.pop(key.group, None)
        elif key.API_KEY in STREAMS_GROUP_TYPES:
            streams_replay.replay(self.groups, key, value)
        elif key.API_KEY in SHARE_GROUP_TYPES:
            share_replay.replay(self.groups, key, value, now_ms)
        else:
            consumer_replay.replay(self.groups, key, value)

    def replay_end_transaction(self, producer_id: int, committed: bool) -> None:
        """Replays the marker of a transaction: its pending offsets take effect or are dropped."""
        self.offsets.end_transaction(producer_id, committed)

    # --- loading and unloading

    def on_loaded(self, effects: GroupEffects) -> None:
        """Starts the live groups after all records were replayed. Each member has a full session."""
        groups, config = self.groups, self.groups.config
        for group_id, value in groups.stored.items():
            group = _group_from_record(group_id, value, effects.now_ms, groups.memory)
            groups.classic[group_id] = group
            for member in group.members.values():
                effects.set_timer(member.session_timer)
            if len(group.members) > config.group_max_size:
                prepare(config, group, effects, "the group is larger than group.max.size, which was lowered")
        if groups.consumer:
            consumer_lifecycle.begin_sessions(groups, effects)
        if groups.share:
            share_lifecycle.begin_sessions(groups, effects)
        if groups.streams:
            streams_lifecycle.begin_sessions(groups, effects)
        effects.set_timer(SetTimer(EXPIRATION_KEY, config.offsets_retention_check_interval_ms, ExpirationDue()))

    def on_unloaded(self, effects: GroupEffects) -> None:
        """Answers parked requests NOT_COORDINATOR, because this broker stops serving the partition."""
        for group in self.groups.classic.values():
            group.transition_to(GroupState.DEAD, effects.now_ms)
            for member in group.members.values():
                token = group.pop_join_token(member)
                if token is not None:
                    response = JoinGroupResponse(
                        error_code=ErrorCode.NOT_COORDINATOR, protocol_name=None, member_id=member.member_id
                    )
                    effects.reply(token, response)
                if member.sync_token is not None:
                    effects.reply(member.sync_token, SyncGroupResponse(error_code=ErrorCode.NOT_COORDINATOR))
                    member.sync_token = None

    # --- timers

    def handle_timer(self, event: TimerEvent, effects: GroupEffects) -> None:
        """Handles the event of a timer."""
        match event:
            case MemberExpired():
                member_expired(self.groups, event, effects)
            case JoinDue():
                join_due(self.groups, event, effects)
            case InitialJoinDue():
                initial_join_due(self.groups, event, effects)
            case SyncDue():
                sync_due(self.groups, event, effects)
            case ExpirationDue():
                if self.expiration is None:
                    self.expiration = Expiration(self, effects.now_ms)
                records, goes_on = self.expiration.step()
                effects.records += records
                effects.atomic = False
                self.groups.counts.offset_expirations += sum(
                    isinstance(record.key, OffsetCommitKey) for record in records
                )
                if not goes_on:
                    self.expiration = None
                delay_ms = 0 if goes_on else self.groups.config.offsets_retention_check_interval_ms
                effects.set_timer(SetTimer(EXPIRATION_KEY, delay_ms, ExpirationDue()))
            case ShareSessionExpired() | ShareTargetDue():
                share_lifecycle.handle_timer(self.groups, event, effects)
            case StreamsSessionExpired() | StreamsRebalanceDue() | StreamsDelayOver() | StreamsTargetDue():
                streams_lifecycle.handle_timer(self.groups, event, effects)
            case _:  # of a consumer group
                consumer_lifecycle.handle_timer(self.groups, event, effects)


def _group_from_record(group_id: str, value: GroupMetadataValue, now_ms: int, memory: GroupMemory) -> ClassicGroup:
    group = ClassicGroup(group_id, now_ms, memory)
    group.generation_id = value.generation
    group.protocol_type = value.protocol_type or None
    group.state_timestamp_ms = value.current_state_timestamp
    # A log may hold records that no coordinator writes: members without a protocol, a leader that is not a member, two
    # members with one id (the last one counts, as in Kafka).
    members = {member.member_id: member for member in value.members}
    group.protocol_name = (value.protocol or "") if members else value.protocol
    group.leader_id = value.leader if value.leader in members else None
    if members:
        group.state = GroupState.STABLE
    for member in members.values():
        # Version 0 has no rebalance timeout.
        rebalance_timeout_ms = member.session_timeout if member.rebalance_timeout == -1 else member.rebalance_timeout
        loaded = ClassicMember(
            group_id,
            member.member_id,
            member.group_instance_id,
            member.client_id,
            member.client_host,
            rebalance_timeout_ms,
            member.session_timeout,
            value.protocol_type,
            [(value.protocol or "", bytes(member.subscription))],
            bytes(member.assignment),
        )
        group.add(loaded, None)
    group.refresh_subscribed_topics()
    return group
