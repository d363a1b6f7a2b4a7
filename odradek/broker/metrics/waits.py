"""Counts how long the requests of one API wait, without counting each request that does not. Pure.

Owns: the waits that have happened. Never does: reading a clock, I/O. Invariant: no bucket ever shrinks, because
Prometheus would take that for a restart: a request counts when it has waited, or as a time of 0 if it does not wait.
Source: ``RequestMetrics``, which counts a time for each request.
"""

from .times import Times

AT_ONCE_NS = 100_000
"""A wait below this counts as none: the time between two steps of the same turn. (Kafka rounds to whole ms.)"""


class Waits:
    """One kind of wait. A request that does not wait takes no call."""

    __slots__ = ("_begun", "_times")

    def __init__(self) -> None:
        self._begun = 0
        """The waits that have begun, or ended after AT_ONCE_NS."""
        self._times = Times()

    def begin(self) -> None:
        """A request begins to wait. If its client leaves before :meth:`end`, the request does not count at all."""
        self._begun += 1

    def end(self, ns: int) -> None:
        """A wait that has begun is over, after ``ns``."""
        if ns < AT_ONCE_NS:
            self._begun -= 1
        else:
            self._times.note(ns)

    def note(self, ns: int) -> None:
        """A whole wait of ``ns``."""
        if ns >= AT_ONCE_NS:
            self._begun += 1
            self._times.note(ns)

    def among(self, requests: int) -> Times:
        """The waits of all ``requests``: those that have not begun to wait count as 0."""
        unwaited = Times()
        unwaited.buckets[0] = requests - self._begun
        return self._times + unwaited
