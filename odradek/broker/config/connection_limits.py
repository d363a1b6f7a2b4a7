"""The limits on connections: of the broker, and of each listener.

Pure. Owns: which keys a listener may set for itself. Never does: counting. Source: ``SocketServerConfigs``,
``ConnectionQuotas.ListenerConnectionQuota`` (KIP-402, KIP-612).
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

from .definition import server_keys
from .typed_values import TypedValues, listener_value
from .validators import violation
from .values import parse_value

MAX_KEY, RATE_KEY = "max.connections", "max.connection.creation.rate"
UNLIMITED = 2**31 - 1
_OF_A_LISTENER = re.compile(r"listener\.name\.[^.]*\.(max\.connections|max\.connection\.creation\.rate)")


class ConnectionLimits(NamedTuple):
    """``max_connections``: open at one time. ``max_rate``: new ones a second."""

    max_connections: int
    max_rate: int


def limits_of_broker(config: TypedValues) -> ConnectionLimits:
    """The limits for all listeners together."""
    return ConnectionLimits(config.get_int(MAX_KEY), config.get_int(RATE_KEY))


def limits_of_listener(config: TypedValues, listener: str) -> ConnectionLimits:
    """The limits of one listener: its own if they are set, else the broker's.

    A limit that is not a valid number is ignored: another program may have stored it.
    """
    of_broker = limits_of_broker(config)
    found = []
    for key, default in zip((MAX_KEY, RATE_KEY), of_broker, strict=True):
        given = listener_value(config, listener, key)
        valid = given is not None and problem(key, given.text) is None
        found.append(int(given.text) if given is not None and valid else default)
    return ConnectionLimits(*found)


def is_of_listener(key: str) -> bool:
    """Whether a key sets a connection limit of one listener."""
    return _OF_A_LISTENER.fullmatch(key) is not None


def bad_listener_limits(config: TypedValues) -> Iterator[str]:
    """A sentence for each limit of a listener that is not a valid number."""
    for key, text in config.originals.items():
        match = _OF_A_LISTENER.fullmatch(key)
        found = None if match is None else problem(match[1], text)
        if found is not None:
            yield f"{key} ({config.place_of(key)}): {found}"


def problem(key: str, text: str) -> str | None:
    """Why a text can't be the value of a limit, or None."""
    definition = server_keys()[key]
    try:
        return violation(definition, parse_value(key, definition.type, text))
    except ValueError as unparsable:
        return str(unparsable)
