"""What has to change so that a cluster has the topics of a file. Pure.

Owns: the comparison, and what is refused: partitions can't be taken away, ``reassign-partitions`` moves replicas, and a
topic is deleted only if the file says ``state: absent`` and the flag allows it. Topics and configs that the file does
not name stay as they are.
"""

from collections.abc import Iterable, Mapping
from enum import Enum
from typing import NamedTuple

from odradek.protocol.common.topics_file import WantedTopic

from ..topic_partitions import INTERNAL_TOPICS


class Action(Enum):
    """What happens to a topic; the value is the sign that its line begins with."""

    CREATE = "+"
    CHANGE = "~"
    DELETE = "-"
    REFUSE = "!"


class ExistingTopic(NamedTuple):
    """A topic of the cluster. ``config``: the values in effect; ``own``: the keys that are set for this topic."""

    partitions: int
    replicas: int
    config: Mapping[str, str]
    own: frozenset[str] = frozenset()


class TopicChange(NamedTuple):
    """One topic that is not as the file says. ``lines`` describe it."""

    action: Action
    topic: WantedTopic
    lines: tuple[str, ...]
    partitions: int | None = None
    """The new number of partitions of a topic that exists."""
    set_configs: Mapping[str, str] = {}
    delete_configs: tuple[str, ...] = ()


def plan(
    wanted: Iterable[WantedTopic],
    existing: Mapping[str, ExistingTopic],
    *,
    may_delete: bool = False,
    prunes_configs: bool = False,
) -> list[TopicChange]:
    """The changes, in the order of the file.

    ``prunes_configs``: configs that are set for a topic and that the file does not name are deleted.
    """
    changes = []
    for topic in wanted:
        found = existing.get(topic.name)
        if topic.name in INTERNAL_TOPICS:
            changes.append(_refused(topic, "is an internal topic; the brokers make it"))
        elif topic.is_absent:
            if found is not None:
                allowed = TopicChange(Action.DELETE, topic, (f"deletes its {found.partitions} partitions",))
                changes.append(allowed if may_delete else _refused(topic, "would be deleted; allow it: --allow-delete"))
        elif found is None:
            changes.append(TopicChange(Action.CREATE, topic, _described(topic)))
        elif (change := _compared(topic, found, prunes_configs=prunes_configs)) is not None:
            changes.append(change)
    return changes


def _refused(topic: WantedTopic, reason: str) -> TopicChange:
    return TopicChange(Action.REFUSE, topic, (f"line {topic.line}: {reason}",))


def _described(topic: WantedTopic) -> tuple[str, ...]:
    counts = [
        f"{name}: {'the default of the brokers' if count is None else count}"
        for name, count in (("partitions", topic.partitions), ("replicas", topic.replicas))
    ]
    return (*counts, *(f"{key}: {value}" for key, value in sorted(topic.config.items())))


def _compared(topic: WantedTopic, found: ExistingTopic, *, prunes_configs: bool) -> TopicChange | None:
    if topic.partitions is not None and topic.partitions < found.partitions:
        reason = f"has {found.partitions} partitions, the file says {topic.partitions}; they can't be taken away"
        return _refused(topic, reason)
    if topic.replicas is not None and topic.replicas != found.replicas:
        reason = f"has {found.replicas} replicas, the file says {topic.replicas}; use odradek reassign-partitions"
        return _refused(topic, reason)
    lines = []
    partitions = None
    if topic.partitions is not None and topic.partitions > found.partitions:
        partitions = topic.partitions
        lines.append(f"partitions: {found.partitions} -> {partitions}")
    changed = {key: value for key, value in sorted(topic.config.items()) if found.config.get(key) != value}
    lines += [f"{key}: {found.config.get(key, 'not set')} -> {value}" for key, value in changed.items()]
    pruned = tuple(sorted(found.own - topic.config.keys())) if prunes_configs else ()
    lines += [f"{key}: {found.config.get(key)} -> the default" for key in pruned]
    return TopicChange(Action.CHANGE, topic, tuple(lines), partitions, changed, pruned) if lines else None
