"""What a member's subscription leads to: its record, its regular expression, the epoch of the group.

Owns: when a group's epoch is raised. Never does: matching at once: regular expressions are resolved by an event of
their own, as Kafka does it on a thread of its own, and the members learn of it by their next heartbeats.
Source: ``GroupMetadataManager``, hasMemberSubscriptionChanged, maybeUpdateRegularExpressions,
handleRegularExpressionsResult, updateSubscriptionMetadata.
"""

import logging
from enum import Enum, auto
from typing import NamedTuple

from ....protocol.errors import ErrorCode, KafkaError
from ...coordinator.effects import SetTimer
from ..effects import GroupEffects, RegularExpressionsDue, regular_expressions_key
from ..records import CoordinatorRecord
from .group import (
    ConsumerGroup,
    RefreshDeadline,
    ResolvedRegularExpression,
    count_matches,
    is_homogeneous,
    next_epoch,
)
from .member import ConsumerGroupMember
from .metadata_hash import group_hash
from .records import epoch_record, member_record, partition_metadata_tombstone, regex_record, regex_tombstone
from .registry import GroupRegistry

logger = logging.getLogger(__name__)

METADATA_REFRESH_INTERVAL_MS = 2**31 - 1
REGEX_BATCH_REFRESH_MIN_INTERVAL_MS = 10_000
NEVER_MS = -(2**63)


class RegexStatus(Enum):
    """What a heartbeat did to the member's regular expression."""

    NO_CHANGE = auto()
    UPDATED = auto()
    UPDATED_AND_RESOLVED = auto()
    """It is another one, whose topics are known: the group's epoch rises."""


class Subscription(NamedTuple):
    """The group's epoch as it will be, and whether all its members will subscribe to the same."""

    group_epoch: int
    homogeneous: bool


def store_member(
    group: ConsumerGroup, member: ConsumerGroupMember, updated: ConsumerGroupMember, records: list[CoordinatorRecord]
) -> bool:
    """Records a member that has changed; whether its topics by name have."""
    if updated == member:
        return False
    records.append(member_record(group.group_id, updated))
    return updated.subscribed_topic_names != member.subscribed_topic_names


def update_regular_expression(
    core: GroupRegistry,
    group: ConsumerGroup,
    member: ConsumerGroupMember,
    updated: ConsumerGroupMember,
    effects: GroupEffects,
    records: list[CoordinatorRecord],
) -> RegexStatus:
    """Takes over the member's regular expression, and sees to it that the group's are resolved when that is due.

    Raises KafkaError INVALID_REGULAR_EXPRESSION.
    """
    old, new = member.subscribed_topic_regex, updated.subscribed_topic_regex
    status = RegexStatus.NO_CHANGE
    is_new = False
    if old != new:
        status = RegexStatus.UPDATED
        if old and group.subscribed_regexes.get(old) == 1:
            records.append(regex_tombstone(group.group_id, old))
        if new:
            is_new = new not in group.subscribed_regexes
            if is_new:
                validate_regular_expression(new)
            elif new in group.resolved:
                status = RegexStatus.UPDATED_AND_RESOLVED
        elif old:
            status = RegexStatus.UPDATED_AND_RESOLVED
    if is_new or group.subscribed_regexes:
        _resolve_when_due(core, group, group.regex_counts_with(member, updated), is_new, effects)
    return status


def validate_regular_expression(pattern: str) -> None:
    """Raises KafkaError INVALID_REGULAR_EXPRESSION with RE2's reason."""
    from .regular_expressions import validate  # RE2 comes with the first pattern

    problem = validate(pattern)
    if problem is not None:
        raise KafkaError(
            ErrorCode.INVALID_REGULAR_EXPRESSION,
            f"SubscribedTopicRegex `{pattern}` is not a valid regular expression: {problem}.",
        )


def _resolve_when_due(
    core: GroupRegistry, group: ConsumerGroup, regexes: dict[str, int], is_due: bool, effects: GroupEffects
) -> None:
    """Asks for the event, unless one is under way or the last was less than ten seconds ago."""
    if group.group_id in core.resolving_groups:
        return
    last = next(iter(group.resolved.values()), None)
    last_ms = NEVER_MS if last is None else last.timestamp_ms
    if effects.now_ms <= last_ms + REGEX_BATCH_REFRESH_MIN_INTERVAL_MS:
        return
    is_due = (
        is_due
        or len(regexes) != len(group.resolved)
        or (0 if last is None else last.version) < core.topics.version_with_new_topics
        or effects.now_ms > last_ms + core.config.group_consumer_regex_refresh_interval_ms
    )
    if is_due and regexes:
        core.resolving_groups.add(group.group_id)
        event = RegularExpressionsDue(group.group_id, frozenset(regexes))
        effects.set_timer(SetTimer(regular_expressions_key(group.group_id), 0, event))


def resolve_regular_expressions(core: GroupRegistry, event: RegularExpressionsDue, effects: GroupEffects) -> None:
    """Finds the topics of a group's regular expressions; the group's epoch rises where they have changed."""
    core.resolving_groups.discard(event.group_id)
    group = core.consumer_groups.get(event.group_id)
    if group is None:
        return
    from .regular_expressions import matching  # RE2 comes with the first pattern

    counts = dict(group.subscribed_topics)
    names = list(core.topics.names())
    bump = False
    for regex in sorted(event.patterns & group.subscribed_regexes.keys()):
        resolved = ResolvedRegularExpression(matching(regex, names), core.topics.version, effects.now_ms)
        old = group.resolved.get(regex)
        old_topics = frozenset() if old is None else old.topics
        if old_topics != resolved.topics:
            bump = True
            count_matches(counts, old_topics, -1)
            count_matches(counts, resolved.topics, 1)
        effects.records.append(regex_record(group.group_id, regex, resolved))
    metadata_hash = group_hash(counts, core.topics)
    if bump or metadata_hash != group.metadata_hash:
        group_epoch = next_epoch(group.group_epoch)
        logger.info("group %r: epoch %d, its regular expressions match other topics", group.group_id, group_epoch)
        effects.records.append(epoch_record(group.group_id, group_epoch, metadata_hash))
        group.refresh_deadline = RefreshDeadline(effects.now_ms + METADATA_REFRESH_INTERVAL_MS, group_epoch)


def update_subscription(
    core: GroupRegistry,
    group: ConsumerGroup,
    bump: bool,
    member: ConsumerGroupMember,
    updated: ConsumerGroupMember,
    now_ms: int,
    records: list[CoordinatorRecord],
) -> Subscription:
    """Looks at what the group subscribes to; its epoch rises where that has changed, or ``bump`` asks for it."""
    topic_counts = group.topic_counts_with(member, updated)
    metadata_hash = group_hash(topic_counts, core.topics)
    group_epoch = group.group_epoch
    if bump or metadata_hash != group.metadata_hash:
        group_epoch = next_epoch(group_epoch)
        logger.info("group %r: epoch %d", group.group_id, group_epoch)
        records.append(epoch_record(group.group_id, group_epoch, metadata_hash))
    group.refresh_deadline = RefreshDeadline(now_ms + METADATA_REFRESH_INTERVAL_MS, group_epoch)
    if group.has_subscription_metadata:
        records.append(partition_metadata_tombstone(group.group_id))
    return Subscription(group_epoch, _is_homogeneous_with(group, member, updated))


def current_subscription(
    group: ConsumerGroup, member: ConsumerGroupMember, updated: ConsumerGroupMember
) -> Subscription:
    """The group's epoch as it is, and whether all its members will subscribe to the same.

    Kafka looks at those who are there already: one that joins without a subscription while a target assignment is due
    makes it assign partitions to whoever does not read them.
    """
    return Subscription(group.group_epoch, _is_homogeneous_with(group, member, updated))


def _is_homogeneous_with(group: ConsumerGroup, member: ConsumerGroupMember, updated: ConsumerGroupMember) -> bool:
    member_count = len(group.members)
    if updated.member_id not in group.members and updated.instance_id not in group.static_members:
        member_count += 1
    regex_counts = group.regex_counts_with(member, updated)
    return is_homogeneous(regex_counts, group.topic_counts_with(member, updated), member_count)
