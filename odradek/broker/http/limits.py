"""The limits of an HTTP server: bytes, times and connections."""

from typing import NamedTuple


class HttpLimits(NamedTuple):
    """What one client, and all clients together, may use."""

    head_bytes: int = 8192
    """The most bytes of a request line with its headers."""
    max_wait_s: float = 10.0
    """The time for a request to arrive, for its body to arrive, and for a client to read something of its answer."""
    max_idle_s: float = 0.0
    """The time for which a connection is kept for the next request; 0 closes it after each answer."""
    max_requests: int = 100
    """The most connections that have not sent their request. Another one takes the place of the oldest."""
    turn_s: float = 0.0005
    """The time after which a turn makes no further piece of an answer. Most pieces take a tenth of it: with one in each
    turn, an answer would wait for a hundred turns, which takes a second if the broker is busy."""
