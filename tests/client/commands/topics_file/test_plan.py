"""Plans: what is refused, and that a plan leaves nothing to do once it is carried out."""

from random import Random

import pytest

from odradek.client.commands.topics_file.plan import Action, ExistingTopic, TopicChange, plan
from odradek.protocol.common.topics_file import WantedTopic
from support.each import each

KEYS = ("retention.ms", "cleanup.policy", "segment.bytes")
DEFAULTS = {"retention.ms": "604800000", "cleanup.policy": "delete", "segment.bytes": "1073741824"}


def existing(partitions: int = 3, replicas: int = 1, **own: str) -> ExistingTopic:
    """A topic of the cluster; the keys of its own configs have underscores."""
    configs = {key.replace("_", "."): value for key, value in own.items()}
    return ExistingTopic(partitions, replicas, {**DEFAULTS, **configs}, frozenset(configs))


@pytest.mark.parametrize(
    ("topic", "reason"),
    [
        (WantedTopic("orders", 4, partitions=2), "has 3 partitions, the file says 2; they can't be taken away"),
        (WantedTopic("orders", 4, replicas=3), "has 1 replicas, the file says 3; use odradek reassign-partitions"),
        (WantedTopic("orders", 4, is_absent=True), "would be deleted; allow it: --allow-delete"),
        (WantedTopic("__consumer_offsets", 4), "is an internal topic; the brokers make it"),
    ],
)
def test_what_is_refused(topic: WantedTopic, reason: str) -> None:
    [change] = plan([topic], {"orders": existing()})
    assert (change.action, change.lines) == (Action.REFUSE, (f"line 4: {reason}",))


def test_what_the_file_does_not_name_stays() -> None:
    assert plan([WantedTopic("orders", 1)], {"orders": existing(retention_ms="1"), "users": existing()}) == []
    [change] = plan([WantedTopic("orders", 1)], {"orders": existing(retention_ms="1")}, prunes_configs=True)
    assert (change.delete_configs, change.lines) == (("retention.ms",), ("retention.ms: 1 -> the default",))


def test_a_value_that_is_in_effect_is_no_change() -> None:
    assert plan([WantedTopic("orders", 1, config={"retention.ms": "604800000"})], {"orders": existing()}) == []


def carried_out(changes: list[TopicChange], topics: dict[str, ExistingTopic]) -> dict[str, ExistingTopic]:
    """The topics after the changes that are not refused."""
    after = dict(topics)
    for change in changes:
        wanted, name = change.topic, change.topic.name
        if change.action is Action.CREATE:
            own = dict(wanted.config)
            after[name] = ExistingTopic(
                wanted.partitions or 1, wanted.replicas or 1, {**DEFAULTS, **own}, frozenset(own)
            )
        elif change.action is Action.DELETE:
            del after[name]
        elif change.action is Action.CHANGE:
            found = after[name]
            own_keys = (found.own | change.set_configs.keys()) - set(change.delete_configs)
            config = {**found.config, **change.set_configs, **{key: DEFAULTS[key] for key in change.delete_configs}}
            after[name] = ExistingTopic(change.partitions or found.partitions, found.replicas, config, own_keys)
    return after


def random_config(chance: Random) -> dict[str, str]:
    return {key: str(chance.choice((DEFAULTS[key], "1", "2"))) for key in KEYS if chance.random() < 0.5}


@each("seed", range(300))
def test_a_plan_leaves_nothing_to_do(seed: int) -> None:
    chance = Random(seed)
    names = [f"topic-{number}" for number in range(6)]
    topics = {
        name: existing(
            chance.randint(1, 4),
            chance.randint(1, 2),
            **{key.replace(".", "_"): value for key, value in random_config(chance).items()},
        )
        for name in names
        if chance.random() < 0.6
    }
    wanted = [
        WantedTopic(
            name,
            number,
            chance.random() < 0.2,
            chance.choice((None, 1, 2, 3, 4)),
            chance.choice((None, 1, 2)),
            random_config(chance),
        )
        for number, name in enumerate(names)
    ]
    flags = {"may_delete": chance.random() < 0.5, "prunes_configs": chance.random() < 0.5}
    changes = plan(wanted, topics, **flags)
    left = plan(wanted, carried_out(changes, topics), **flags)
    refused = [change for change in changes if change.action is Action.REFUSE]
    assert left == refused
    for change in refused:
        assert topics[change.topic.name] == carried_out(changes, topics)[change.topic.name]
