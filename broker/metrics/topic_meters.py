"""Counts what clients write and read, by topic. Pure.

Owns: the counts. Never does: I/O. Invariant: only topics that exist get an entry, and :meth:`TopicMeters.keep` drops
those that are deleted. Source: ``BrokerTopicStats``, ``BrokerTopicMetrics``.

Produce and Fetch count each partition at the point at which its topic, bytes and records are known: 0.2 us each.
"""

from collections.abc import Callable, Container, Iterable, Iterator
from typing import Protocol

from ...protocol.messages.fetch import FetchResponse


class Wanted(Protocol):
    """A partition that a consumer wants. ``resolved_name``: its topic's; empty if no topic has the id."""

    resolved_name: str


class Read(Protocol):
    """A partition in the answer to a consumer. ``data``: as the answer has it."""

    @property
    def wanted(self) -> Wanted:
        """What the consumer wants."""

    @property
    def data(self) -> FetchResponse.PartitionData:
        """What it gets."""


class TopicMeter:
    """One topic's traffic."""

    __slots__ = (
        "bytes_in",
        "bytes_out",
        "failed_fetches",
        "failed_produces",
        "fetches",
        "messages_in",
        "produces",
    )

    def __init__(self) -> None:
        self.messages_in = self.bytes_in = self.bytes_out = 0
        self.produces = self.failed_produces = self.fetches = self.failed_fetches = 0


class TopicMeters:
    """The traffic of all topics."""

    def __init__(self, exists: Callable[[str], bool]) -> None:
        """``exists``: whether there is a topic of that name."""
        self._exists = exists
        self._meters: dict[str, TopicMeter] = {}
        self.unknown = TopicMeter()
        """Failed requests for topics that do not exist. They share a meter, since clients choose these names."""

    def __iter__(self) -> Iterator[tuple[str, TopicMeter]]:
        """The topics and their meters, by name."""
        return iter(sorted(self._meters.items()))

    def keep(self, existing: Container[str]) -> None:
        """Forgets deleted topics."""
        for name in [name for name in self._meters if name not in existing]:
            del self._meters[name]

    def appended(self, name: str, size: int, records: int) -> None:
        """Counts a batch of ``size`` bytes that a producer has written to a partition of an existing topic."""
        meter = self._meters.get(name) or self._of(name)
        meter.produces += 1
        meter.bytes_in += size
        meter.messages_in += records

    def refused(self, name: str) -> None:
        """Counts a batch that was refused. ``name``: its topic's; empty if no topic has the id of the request."""
        meter = self._of(name)
        meter.produces += 1
        meter.failed_produces += 1

    def fetched(self, reads: Iterable[Read]) -> None:
        """Counts partitions in an answer to a consumer."""
        for read in reads:
            data = read.data
            meter = self._meters.get(read.wanted.resolved_name) or self._of(read.wanted.resolved_name)
            meter.fetches += 1
            if data.error_code:
                meter.failed_fetches += 1
            elif data.records is not None:
                meter.bytes_out += len(data.records)

    def _of(self, name: str) -> TopicMeter:
        """The meter of a topic that may not exist."""
        meter = self._meters.get(name)
        if meter is None:
            if not self._exists(name):
                return self.unknown
            meter = self._meters[name] = TopicMeter()
        return meter
