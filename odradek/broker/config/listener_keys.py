"""Keys that a listener, or one mechanism of a listener, may set for itself: ``listener.name.<listener>.<key>``.

Pure. Owns: the precedence. Source: ``ListenerName.configPrefix``, ``AbstractConfig.valuesWithPrefixOverride``.
"""

from typing import NamedTuple

from .typed_values import TypedValues


class ListenerValue(NamedTuple):
    """The text of a setting, and the key that set it."""

    key: str
    text: str


def prefix_of(listener_name: str) -> str:
    """``listener.name.<listener>.``, in lower case."""
    return f"listener.name.{listener_name.lower()}."


def listener_value(
    config: TypedValues, listener_name: str, key: str, mechanism: str | None = None
) -> ListenerValue | None:
    """The value of ``key`` for a listener; None if it is not set. The key with the prefix of listener and mechanism
    comes first, then the one with the prefix of the listener, then the key without a prefix.
    """
    prefix = prefix_of(listener_name)
    names = [f"{prefix}{key}", key]
    if mechanism is not None:
        names.insert(0, f"{prefix}{mechanism.lower()}.{key}")
    for name in names:
        text = config.originals.get(name)
        if text is not None:
            return ListenerValue(name, text.strip())
    return None
