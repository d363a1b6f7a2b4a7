"""Cuts a request for many partitions into portions that are served one after the other.

Owns: the division. Never does: serving. Invariant: the portions together are the request, in its order.

The coordinator writes each portion as one batch of records, so a portion is stored completely or not at all. A crash
between two portions leaves only the first ones stored. Kafka instead writes the whole request as one batch, and refuses
a request of more than ``max.message.bytes`` (about 10,000 offsets).
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Protocol, TypeVar


class WithPartitions(Protocol):
    """A topic of a request."""

    @property
    def partitions(self) -> Sequence[Any]:
        """Its partitions."""


Topic = TypeVar("Topic", bound=WithPartitions)

PORTION = 256
"""The number of topics and partitions, added up, in a portion: about 2 ms of work."""


def portions(
    topics: Sequence[Topic], with_partitions: Callable[[Topic, Sequence[Any]], Topic]
) -> Iterator[list[Topic]]:
    """Divides topics into portions, at least one. ``with_partitions`` copies a topic with only some of its
    partitions."""
    portion: list[Topic] = []
    room = PORTION
    for topic in topics:
        partitions = topic.partitions
        start = 0
        while True:
            part = partitions[start : start + max(room - 1, 1)]
            portion.append(topic if len(part) == len(partitions) else with_partitions(topic, part))
            start += len(part)
            room -= 1 + len(part)
            if room <= 1:
                yield portion
                portion, room = [], PORTION
            if start >= len(partitions):
                break
    if portion or not topics:
        yield portion
