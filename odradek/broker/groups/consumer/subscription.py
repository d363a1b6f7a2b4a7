"""Handles a change of a member's subscription: the member's record, its regular expression, the group's epoch.

Owns: the rule when a member raises the group's epoch. Never does: matching topic names (:mod:`.regex_resolution`).
Source: ``GroupMetadataManager``, hasMemberSubscriptionChanged, maybeUpdateRegularExpressions,
updateSubscriptionMetadata.
"""

import logging
from enum import Enum, auto

from odradek.protocol.common.lazy_imports import lazy_imports
from odradek.protocol.errors import ErrorCode, KafkaError

from ..effects import GroupEffects
from ..modern.epochs import METADATA_REFRESH_INTERVAL_MS, RefreshDeadline, next_epoch
from ..modern.metadata_hash import group_hash
from ..records import CoordinatorRecord
from .group import ConsumerGroup
from .member import ConsumerGroupMember
from .records import epoch_record, member_record, partition_metadata_tombstone, regex_tombstone
from .regex_resolution import resolve_when_due
from .registry import GroupRegistry

with lazy_imports:
    from . import regular_expressions

logger = logging.getLogger(__name__)


class RegexStatus(Enum):
    """What a heartbeat did to the member's regular expression."""

    NO_CHANGE = auto()
    UPDATED = auto()
    UPDATED_AND_RESOLVED = auto()
    """The expression has changed, and the topics of the new one are known already; or the member has none any more. The
    group's epoch rises."""


def store_member(
    group: ConsumerGroup, member: ConsumerGroupMember, updated: ConsumerGroupMember, records: list[CoordinatorRecord]
) -> bool:
    """Adds the record of a member that has changed. Returns whether its subscribed topic names have changed."""
    if updated == member:
        return False
    records.append(member_record(group.group_id, updated))
    return updated.subscribed_topic_names != member.subscribed_topic_names


def update_regular_expression(
    groups: GroupRegistry,
    group: ConsumerGroup,
    member: ConsumerGroupMember,
    updated: ConsumerGroupMember,
    effects: GroupEffects,
    records: list[CoordinatorRecord],
) -> RegexStatus:
    """Handles a change of the member's regular expression, and starts a resolution of the group's expressions if due.

    Adds a tombstone for an expression that no other member has. Raises KafkaError INVALID_REGULAR_EXPRESSION.
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
        resolve_when_due(groups, group, group.regex_counts_with(member, updated), is_new, effects)
    return status


def validate_regular_expression(pattern: str) -> None:
    """Raises KafkaError INVALID_REGULAR_EXPRESSION with RE2's reason."""
    problem = regular_expressions.validate(pattern)
    if problem is not None:
        raise KafkaError(
            ErrorCode.INVALID_REGULAR_EXPRESSION,
            f"SubscribedTopicRegex `{pattern}` is not a valid regular expression: {problem}.",
        )


def update_subscription(
    groups: GroupRegistry,
    group: ConsumerGroup,
    bump: bool,
    member: ConsumerGroupMember,
    updated: ConsumerGroupMember,
    now_ms: int,
    records: list[CoordinatorRecord],
) -> int:
    """Raises the group's epoch, with a record, if ``bump`` is True or the subscribed topics have changed. Returns the
    group's epoch."""
    topic_counts = group.topic_counts_with(member, updated)
    metadata_hash = group_hash(topic_counts, groups.topics)
    group_epoch = group.group_epoch
    if bump or metadata_hash != group.metadata_hash:
        group_epoch = next_epoch(group_epoch)
        groups.counts.consumer_rebalances += 1
        logger.info("group %r: new epoch %d", group.group_id, group_epoch)
        records.append(epoch_record(group.group_id, group_epoch, metadata_hash))
    group.refresh_deadline = RefreshDeadline(now_ms + METADATA_REFRESH_INTERVAL_MS, group_epoch)
    if group.has_subscription_metadata:
        records.append(partition_metadata_tombstone(group.group_id))
    return group_epoch
