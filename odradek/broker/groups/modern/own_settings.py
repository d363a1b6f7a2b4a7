"""The settings that a group has itself, instead of the coordinator's defaults.

Pure. Source: ``GroupConfigManager``, ``GroupConfig.evaluate``.
"""

from collections.abc import Mapping

from ...config.definition import group_keys
from ...config.stored import served_value


def own_value(configs: Mapping[str, str], key: str) -> int | None:
    """Returns the value of a numeric key in a group's configs; None if it has none, or an invalid one."""
    text = configs.get(key)
    value = None if text is None else served_value(group_keys()[key], text)
    return value if isinstance(value, int) else None


def own_list(configs: Mapping[str, str], key: str) -> tuple[str, ...] | None:
    """Returns the value of a key of lists in a group's configs; None if it has none, or an invalid one."""
    text = configs.get(key)
    value = None if text is None else served_value(group_keys()[key], text)
    return value if isinstance(value, tuple) else None


def within(own: int, lowest: int, highest: int) -> int:
    """Limits a group's own value to the coordinator's present bounds."""
    return min(max(own, lowest), highest)
