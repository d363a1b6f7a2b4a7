"""The settings of a share group that the leader of a partition needs: the group's own configs, else the broker's.

Pure. Milliseconds. A group's own value is limited to the broker's present bounds. Source: ``ShareGroupConfigProvider``,
``GroupConfig``.
"""

from collections.abc import Callable, Mapping
from typing import NamedTuple

from ..config.definition import group_keys
from ..config.server_config import ServerConfig
from ..config.stored import served_value
from ..metadata.image.features import DEAD_LETTERS_SUPPORTED, SHARE_VERSION
from ..metadata.image.image import MetadataImage, ResourceType


class ShareSettings(NamedTuple):
    """How the records of a share group are given away."""

    delivery_count_limit: int = 5
    """``share.delivery.count.limit``: a record that was delivered so often is not released any more."""
    lock_duration_ms: int = 30_000
    """``share.record.lock.duration.ms``: how long a member holds a record."""
    max_record_locks: int = 2_000
    """``share.partition.max.record.locks``: the most records of a share partition that are in flight."""
    renews: bool = True
    """``share.renew.acknowledge.enable``."""
    read_committed: bool = False
    """``share.isolation.level`` is ``read_committed``."""
    auto_offset_reset: str = "latest"
    """``share.auto.offset.reset``: latest, earliest, or by_duration:PT...."""
    dead_letter_topic: str = ""
    """``errors.deadletterqueue.topic.name``; empty: records are archived without dead letters (KIP-1191)."""
    copies_record: bool = False
    """``errors.deadletterqueue.copy.record.enable``: dead letters have the key and the value of the record."""

    @property
    def dead_letters(self) -> bool:
        """Whether records get dead letters."""
        return bool(self.dead_letter_topic)


SETTINGS_MAX = 1_024
"""The groups whose settings are kept. Parsing them takes 20 us, and each fetch needs them several times."""


class KnownSettings:
    """The settings of share groups, which are parsed again when the metadata or the broker's configuration changes."""

    def __init__(self, image: Callable[[], MetadataImage], config: Callable[[], ServerConfig]) -> None:
        """``image`` and ``config`` return the present ones; each change makes a new object."""
        self._image = image
        self._config = config
        self._of: tuple[MetadataImage, ServerConfig] | None = None
        self._known: dict[str, ShareSettings] = {}

    def of(self, group_id: str) -> ShareSettings:
        """The present settings of a group."""
        image, config = self._image(), self._config()
        if self._of is None or self._of[0] is not image or self._of[1] is not config or len(self._known) > SETTINGS_MAX:
            self._of, self._known = (image, config), {}
        known = self._known.get(group_id)
        if known is None:
            known = self._known[group_id] = share_settings(image, config, group_id)
        return known


def share_settings(image: MetadataImage, config: ServerConfig, group_id: str) -> ShareSettings:
    """The present settings of a share group."""
    own = image.config_of(ResourceType.GROUP, group_id)
    letters = image.features.get(SHARE_VERSION, 0) >= DEAD_LETTERS_SUPPORTED
    return ShareSettings(
        delivery_count_limit=_bounded(own, config, "delivery.count.limit"),
        lock_duration_ms=_bounded(own, config, "record.lock.duration.ms"),
        max_record_locks=_bounded(own, config, "partition.max.record.locks"),
        renews=_value(own, "share.renew.acknowledge.enable", True) is True,
        read_committed=_value(own, "share.isolation.level", "") == "read_committed",
        auto_offset_reset=str(_value(own, "share.auto.offset.reset", "latest")),
        dead_letter_topic=str(_value(own, "errors.deadletterqueue.topic.name", "")) if letters else "",
        copies_record=_value(own, "errors.deadletterqueue.copy.record.enable", False) is True,
    )


def _bounded(own: Mapping[str, str], config: ServerConfig, name: str) -> int:
    """A number of the group between the broker's bounds, or the broker's default."""
    value = _value(own, f"share.{name}", None)
    if not isinstance(value, int):
        return config.get_int(f"group.share.{name}")
    return min(max(value, config.get_int(f"group.share.min.{name}")), config.get_int(f"group.share.max.{name}"))


def _value(own: Mapping[str, str], key: str, default: object) -> object:
    """The group's own value; the default if it has none, or an invalid one."""
    text = own.get(key)
    value = None if text is None else served_value(group_keys()[key], text)
    return default if value is None else value
