"""The settings of share groups: a group's own configs within the broker's bounds, and their changes."""

from collections.abc import Mapping
from types import MappingProxyType, SimpleNamespace
from typing import Any

import pytest

from odradek.broker.config.server_config import ServerConfig
from odradek.broker.share_partitions.settings import KnownSettings, ShareSettings, share_settings


def image(configs: Mapping[str, str] = MappingProxyType({}), *, share_version: int = 2) -> Any:
    """A metadata image with the configs of one group."""
    own = dict(configs)
    return SimpleNamespace(features={"share.version": share_version}, config_of=lambda *_: own)


CONFIG = ServerConfig.load(None, [], {})


def test_the_defaults_are_kafkas() -> None:
    assert share_settings(image(), CONFIG, "g") == ShareSettings()


@pytest.mark.parametrize(
    ("key", "value", "expected"),
    [
        ("share.delivery.count.limit", "7", {"delivery_count_limit": 7}),
        ("share.delivery.count.limit", "24", {"delivery_count_limit": 10}),
        ("share.record.lock.duration.ms", "20000", {"lock_duration_ms": 20_000}),
        ("share.record.lock.duration.ms", "1000", {"lock_duration_ms": 15_000}),
        ("share.partition.max.record.locks", "100", {"max_record_locks": 100}),
        ("share.renew.acknowledge.enable", "false", {"renews": False}),
        ("share.isolation.level", "read_committed", {"read_committed": True}),
        ("share.auto.offset.reset", "earliest", {"auto_offset_reset": "earliest"}),
        ("share.delivery.count.limit", "many", {}),
        ("errors.deadletterqueue.topic.name", "dlq.a", {"dead_letter_topic": "dlq.a"}),
        ("errors.deadletterqueue.copy.record.enable", "true", {"copies_record": True}),
    ],
)
def test_a_groups_own_value(key: str, value: str, expected: dict[str, Any]) -> None:
    assert share_settings(image({key: value}), CONFIG, "g") == ShareSettings()._replace(**expected)


def test_dead_letters_need_level_2() -> None:
    lower = image({"errors.deadletterqueue.topic.name": "dlq.a"}, share_version=1)
    assert not share_settings(lower, CONFIG, "g").dead_letters


def test_a_change_counts_at_once() -> None:
    present = [image()]
    known = KnownSettings(lambda: present[0], lambda: CONFIG)
    assert known.of("g") is known.of("g")
    present[0] = image({"share.delivery.count.limit": "3"})
    assert known.of("g").delivery_count_limit == 3
