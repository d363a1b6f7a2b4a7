"""Resolves a group's regular expressions: finds the topics that they match now.

Owns: the rule when a resolution is due, and the resolutions that are under way, one for each group at most. Never does:
validating a pattern. A resolution runs in steps (in Kafka, on a thread of its own). The members get its result with
their next heartbeats. Source: ``GroupMetadataManager``, maybeUpdateRegularExpressions,
resolveRegularExpressions, handleRegularExpressionsResult.
"""

import logging
from collections.abc import Generator

from odradek.protocol.common.lazy_imports import lazy_imports
from odradek.protocol.security.acl import AclOperation

from ...coordinator.effects import SetTimer
from ..effects import GroupEffects, RegularExpressionsDue, regular_expressions_key
from ..modern.epochs import METADATA_REFRESH_INTERVAL_MS, RefreshDeadline, next_epoch
from ..modern.metadata_hash import group_hash, hash_topics
from ..records import CoordinatorRecord, RecordsInSteps
from .group import (
    ConsumerGroup,
    ResolvedRegularExpression,
    count_matches,
)
from .records import epoch_record, regex_record
from .registry import GroupRegistry

with lazy_imports:
    from . import regular_expressions

logger = logging.getLogger(__name__)

REGEX_BATCH_REFRESH_MIN_INTERVAL_MS = 10_000
NEVER_MS = -(2**63)
NAMES_A_STEP = 256
"""Topic names that one step matches against a pattern: 3 us each."""
PORTION = 4_096
"""A batch of records ends with the pattern that brings it to this number of matched topics, at 3 us each. Kafka stores
all patterns in one batch."""


def resolve_when_due(
    groups: GroupRegistry, group: ConsumerGroup, regexes: dict[str, int], is_due: bool, effects: GroupEffects
) -> None:
    """Starts a resolution by a timer if one is due. Not if one is under way or the last one is under 10 s old.

    It is due if ``is_due`` is True, if the number of expressions has changed, after topics were created, and after
    ``group.consumer.regex.refresh.interval.ms``. ``regexes``: the number of members of each expression.
    """
    if group.group_id in groups.resolving:
        return
    last = next(iter(group.resolved.values()), None)
    last_ms = NEVER_MS if last is None else last.timestamp_ms
    if effects.now_ms <= last_ms + REGEX_BATCH_REFRESH_MIN_INTERVAL_MS:
        return
    is_due = (
        is_due
        or len(regexes) != len(group.resolved)
        or (0 if last is None else last.version) < groups.topics.version_with_new_topics
        or effects.now_ms > last_ms + groups.config.group_consumer_regex_refresh_interval_ms
    )
    if is_due and regexes:
        groups.resolving[group.group_id] = None
        event = RegularExpressionsDue(group.group_id, frozenset(regexes), effects.access)
        effects.set_timer(SetTimer(regular_expressions_key(group.group_id), 0, event))


def advance(groups: GroupRegistry, event: RegularExpressionsDue, effects: GroupEffects) -> None:
    """Takes the next step of a resolution, and stores the result of the last one."""
    group_id = event.group_id
    if group_id not in groups.consumer:
        groups.resolving.pop(group_id, None)
        return
    steps = groups.resolving.get(group_id)
    if steps is None:
        # The resolution begins now; or it begins again, because the records of its result could not be appended.
        steps = groups.resolving[group_id] = _records_in_steps(groups, event, effects.now_ms)
    try:
        effects.records += next(steps)
    except StopIteration as end:
        del groups.resolving[group_id]
        effects.records += end.value
    else:
        effects.set_timer(SetTimer(regular_expressions_key(group_id), 0, event))


def _records_in_steps(groups: GroupRegistry, event: RegularExpressionsDue, now_ms: int) -> RecordsInSteps:
    """Matches the patterns against the topics that exist at the first step, then yields the records of the matches in
    batches (see PORTION).

    The last batch raises the group's epoch if the topics of a pattern have changed.
    """
    resolved = yield from _matches(groups, event, now_ms)
    yield from _hashed(groups, resolved)
    records: list[CoordinatorRecord] = []
    is_changed = False
    size = 0
    group = groups.consumer[event.group_id]
    counts = dict(group.subscribed_topics)
    for regex, now in resolved.items():
        if size >= PORTION:
            yield records
            records, size = [], 0
            group = groups.consumer[event.group_id]
            counts = dict(group.subscribed_topics)
        if regex not in group.subscribed_regexes:
            continue
        size += len(now.topics)
        old = group.resolved.get(regex)
        old_topics = frozenset() if old is None else old.topics
        if old_topics != now.topics:
            is_changed = True
            count_matches(counts, old_topics, -1)
            count_matches(counts, now.topics, 1)
        records.append(regex_record(group.group_id, regex, now))
    if size >= PORTION:
        yield records
        records = []
        group = groups.consumer[event.group_id]
        counts = group.subscribed_topics
    metadata_hash = group_hash(counts, groups.topics)
    if is_changed or metadata_hash != group.metadata_hash:
        group_epoch = next_epoch(group.group_epoch)
        groups.counts.consumer_rebalances += 1
        logger.info("group %r: new epoch %d: its regular expressions match other topics", group.group_id, group_epoch)
        records.append(epoch_record(group.group_id, group_epoch, metadata_hash))
        group.refresh_deadline = RefreshDeadline(now_ms + METADATA_REFRESH_INTERVAL_MS, group_epoch)
    return records


def _matches(
    groups: GroupRegistry, event: RegularExpressionsDue, now_ms: int
) -> Generator[list[CoordinatorRecord], None, dict[str, ResolvedRegularExpression]]:
    names = list(groups.topics.names())
    version = groups.topics.version
    resolved: dict[str, ResolvedRegularExpression] = {}
    for pattern in sorted(event.patterns & groups.consumer[event.group_id].subscribed_regexes.keys()):
        found: set[str] = set()
        for start in range(0, len(names), NAMES_A_STEP):
            if start or resolved:
                yield []
            found |= {
                name
                for name in regular_expressions.matching(pattern, names[start : start + NAMES_A_STEP])
                if event.access is None or event.access.topic(AclOperation.DESCRIBE, name, log=False)
            }
        resolved[pattern] = ResolvedRegularExpression(frozenset(found), version, now_ms)
    return resolved


def _hashed(
    groups: GroupRegistry, resolved: dict[str, ResolvedRegularExpression]
) -> Generator[list[CoordinatorRecord], None, None]:
    for resolution in resolved.values():
        for _ in hash_topics(resolution.topics, groups.topics):
            yield []
