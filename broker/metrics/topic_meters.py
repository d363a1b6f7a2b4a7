"""Counts what clients write and read, by topic. Pure.

Owns: the counts. Never does: I/O. Invariant: only topics that were written or read have an entry, and
:meth:`TopicMeters.keep` drops those that are deleted. Source: ``BrokerTopicStats``, ``BrokerTopicMetrics``.
"""

from collections.abc import Callable, Container, Iterator
from struct import Struct
from typing import Any

RECORDS_COUNT = Struct(">i")
RECORDS_COUNT_AT = 57
"""The position of the number of records in a record batch of version 2, in bytes."""
BATCH_HEADER_BYTES = 61


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

    def __init__(self, name_of: Callable[[bytes], str | None]) -> None:
        """``name_of``: the name of the topic with an id."""
        self._name_of = name_of
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

    def sizes(self, request: Any) -> dict[tuple[str, bytes, int], tuple[int, int]]:
        """The sizes in a Produce request: (topic, topic id, partition) -> (bytes, records). Call it before the request
        is served: its batches may be gone when it is answered.
        """
        return {
            (topic.name, topic.topic_id, data.index): _size(data.records)
            for topic in request.topic_data
            for data in topic.partition_data
        }

    def produced(self, sizes: dict[tuple[str, bytes, int], tuple[int, int]], response: Any) -> None:
        """Counts an answered Produce request."""
        for topic in response.responses:
            name = topic.name or self._name_of(topic.topic_id)
            meter: TopicMeter | None = None
            for answered in topic.partition_responses:
                if answered.error_code:
                    self._existing(name).failed_produces += 1
                    continue
                if meter is None:
                    meter = self._meter(name)
                    meter.produces += 1
                size, records = sizes.get((topic.name, topic.topic_id, answered.index), (0, 0))
                meter.bytes_in += size
                meter.messages_in += records

    def fetched(self, response: Any) -> None:
        """Counts an answered Fetch request."""
        for topic in response.responses:
            name = topic.topic or self._name_of(topic.topic_id)
            for data in topic.partitions:
                if data.error_code:
                    self._existing(name).failed_fetches += 1
                    continue
                meter = self._meter(name)
                meter.fetches += 1
                meter.bytes_out += 0 if data.records is None else len(data.records)

    def _meter(self, name: str | None) -> TopicMeter:
        """The meter of a topic that exists."""
        if name is None:
            return self.unknown
        meter = self._meters.get(name)
        if meter is None:
            meter = self._meters[name] = TopicMeter()
        return meter

    def _existing(self, name: str | None) -> TopicMeter:
        """The meter of a topic that may not exist."""
        return self.unknown if name is None else self._meters.get(name, self.unknown)


def _size(records: Any) -> tuple[int, int]:
    """The bytes of a partition's records, and the number of records that the first batch claims."""
    if records is None:
        return 0, 0
    size = len(records)
    count = RECORDS_COUNT.unpack_from(records, RECORDS_COUNT_AT)[0] if size >= BATCH_HEADER_BYTES else 0
    return size, max(0, count)
