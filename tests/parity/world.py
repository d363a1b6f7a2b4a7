"""The topics and groups of random requests, and each broker's ids for them.

The two brokers give different ids to the same things (topics, members, producers, fetch sessions). A request is drawn
with symbols; :class:`Names` maps them to one broker's ids.
"""

from dataclasses import dataclass, field
from typing import Any

ZERO_UUID = bytes(16)
UNKNOWN_TOPIC_ID = bytes(range(1, 17))


@dataclass
class Names:
    """The ids of one broker."""

    port: int
    topic_ids: dict[str, bytes] = field(default_factory=dict)
    members: dict[str, str] = field(default_factory=dict)
    generations: dict[str, int] = field(default_factory=dict)
    producers: dict[str, tuple[int, int]] = field(default_factory=dict)
    session: tuple[int, int] = (0, -1)

    def topic_id(self, topic: str) -> bytes:
        """The id of a topic, or one that no topic has."""
        return self.topic_ids.get(topic, UNKNOWN_TOPIC_ID)

    def member(self, group: str) -> str:
        """The member id that the last JoinGroup of a group gave, or one that no member has."""
        return self.members.get(group, "nobody")


DIFFERENT_ANYWAY = frozenset(
    {"throttleTimeMs", "clusterId", "host", "port", "rack", "errorMessage", "message", "memberId", "leader"}
    | {"logAppendTimeMs", "producerId", "sessionId", "topicId", "clientHost", "finalizedFeaturesEpoch"}
    | {"incarnationId", "directoryId", "lastFetchTimestamp", "lastCaughtUpTimestamp", "nodeEndpoints"}
    | {"supportedFeatures", "finalizedFeatures", "apiKeys"}
)
"""Fields with ids, times, hosts or texts, which differ between any two brokers."""

UNORDERED = frozenset(
    {"topics", "responses", "groups", "results", "configs", "resources", "brokers", "configResources"}
    | {
        "replicaElectionResults",
        "partitionResult",
        "partitions",
        "partitionResponses",
        "coordinators",
    }
)
"""Lists whose order has no meaning."""


def comparable(node: Any, key: str = "") -> Any:
    """An answer without DIFFERENT_ANYWAY, and with UNORDERED lists sorted."""
    if isinstance(node, dict):
        return {name: comparable(value, name) for name, value in node.items() if name not in DIFFERENT_ANYWAY}
    if isinstance(node, list):
        items = [comparable(item, key) for item in node]
        if key in UNORDERED:
            items.sort(key=str)
        return items
    return node
