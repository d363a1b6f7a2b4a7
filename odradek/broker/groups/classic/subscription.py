"""The topics in consumers' subscriptions.

The metadata of members is opaque, except in groups of protocol type "consumer": there it starts as version 0 of the
consumer protocol, whatever its version, and the coordinator reads the topics (offsets of topics still read do not
expire). Source: ``ClassicGroup.computeSubscribedTopics``.
"""

from collections.abc import Iterable
from struct import Struct
from struct import error as StructError  # noqa: N812 - its name in the library says nothing

_INT16 = Struct(">h")
_INT32 = Struct(">i")


def subscribed_topics(subscriptions: Iterable[bytes]) -> frozenset[str] | None:
    """Returns the topics of all subscriptions, or None if one of them cannot be read."""
    topics: set[str] = set()
    for subscription in subscriptions:
        try:
            topics.update(_read_topics(subscription))
        except (StructError, ValueError):
            return None
    return frozenset(topics)


def _read_topics(subscription: bytes) -> list[str]:
    if _INT16.unpack_from(subscription)[0] < 0:
        raise ValueError("a version below 0")
    count = _INT32.unpack_from(subscription, 2)[0]
    position = 6
    if count < 0 or count * 2 > len(subscription) - position:
        raise ValueError("more topics than bytes")
    topics = []
    for _ in range(count):
        length = _INT16.unpack_from(subscription, position)[0]
        position += 2
        if length < 0 or position + length > len(subscription):
            raise ValueError("a topic longer than the bytes left")
        topics.append(subscription[position : position + length].decode())
        position += length
    # The user data must be present too: Kafka reads all of version 0.
    length = _INT32.unpack_from(subscription, position)[0]
    if length > len(subscription) - position - 4:
        raise ValueError("user data longer than the bytes left")
    return topics
