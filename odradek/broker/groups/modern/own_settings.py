"""The settings that a group has itself, instead of the coordinator's defaults.

Pure. Source: ``GroupConfigManager``, ``GroupConfig.evaluate``.
"""

from collections.abc import Mapping

from ...config.definition import group_keys
from ...config.stored import served_value


def own_or_default(configs: Mapping[str, str], key: str, default: int, bounds: tuple[int, int] | None = None) -> int:
    """Returns the value of a numeric key: the group's own, limited to the coordinator's present ``bounds`` (lowest,
    highest); ``default`` if it has none, or an invalid one. The default is the coordinator's and is not limited."""
    text = configs.get(key)
    own = None if text is None else served_value(group_keys()[key], text)
    if not isinstance(own, int):
        return default
    return own if bounds is None else min(max(own, bounds[0]), bounds[1])


def own_list(configs: Mapping[str, str], key: str) -> tuple[str, ...] | None:
    """Returns the value of a key of lists in a group's configs; None if it has none, or an invalid one."""
    text = configs.get(key)
    value = None if text is None else served_value(group_keys()[key], text)
    return value if isinstance(value, tuple) else None
