"""The topics that groups may read: names, ids, partitions, racks, and when topics were last created.

Owns: the cache of the hashes of topics. Never does: I/O, changing the metadata. Source: ``CoordinatorMetadataImage``,
``GroupMetadataManager.onMetadataUpdate``.
"""

from collections.abc import Callable, Iterable, Iterator

from ...metadata.image.image import MetadataImage


class GroupTopics:
    """The topics in the metadata image, as it is now. ``version``: the metadata offset up to which they are known."""

    __slots__ = ("_image", "hashes", "version_with_new_topics")

    def __init__(self, image: Callable[[], MetadataImage]) -> None:
        self._image = image
        self.hashes: dict[str, int] = {}
        """The cached hashes of topics, by name. The hash of a topic is dropped when the topic changes."""
        self.version_with_new_topics = self.version
        """The metadata offset at which topics were last created."""

    @property
    def version(self) -> int:
        """The metadata offset up to which the topics are known."""
        return self._image().last_offset

    def changed(self, names: Iterable[str], has_new: bool) -> None:
        """Drops the hashes of topics that were created, changed or deleted. ``has_new``: some were created."""
        for name in names:
            self.hashes.pop(name, None)
        if has_new:
            self.version_with_new_topics = self.version

    @property
    def count(self) -> int:
        """The number of topics."""
        return len(self._image().topics_by_name)

    def names(self) -> Iterator[str]:
        """The names of all topics."""
        return iter(self._image().topics_by_name)

    def topic_id(self, name: str) -> bytes | None:
        """The id of the topic of a name, or None."""
        topic = self._image().topics_by_name.get(name)
        return None if topic is None else topic.topic_id

    def topic_name(self, topic_id: bytes) -> str | None:
        """The name of the topic of an id, or None."""
        topic = self._image().topics_by_id.get(topic_id)
        return None if topic is None else topic.name

    def partition_count(self, topic_id: bytes) -> int:
        """The number of partitions of a topic, or -1 if it does not exist."""
        topic = self._image().topics_by_id.get(topic_id)
        return -1 if topic is None else len(topic.partitions)

    def partition_count_of(self, name: str) -> int | None:
        """The number of partitions of the topic of a name, or None if it does not exist."""
        topic = self._image().topics_by_name.get(name)
        return None if topic is None else len(topic.partitions)

    @property
    def has_racks(self) -> bool:
        """Whether a broker has a rack."""
        return any(broker.rack is not None for broker in self._image().brokers.values())

    def partition_racks(self, topic_id: bytes) -> Iterator[tuple[str, ...]]:
        """Yields, for each partition of a topic, the sorted racks of the brokers that have its replicas. Brokers
        without a rack are left out.
        """
        image = self._image()
        partitions = image.topics_by_id[topic_id].partitions
        known: dict[tuple[int, ...], tuple[str, ...]] = {}
        for index in range(len(partitions)):
            replicas = partitions[index].replicas
            racks = known.get(replicas)
            if racks is None:
                brokers = (image.brokers.get(broker_id) for broker_id in replicas)
                racks = known[replicas] = tuple(
                    sorted(broker.rack for broker in brokers if broker and broker.rack is not None)
                )
            yield racks


class TopicsSnapshot:
    """A copy of the ids and partition counts of some topics, for work over several turns of the event loop."""

    __slots__ = ("_counts", "_ids")

    def __init__(self, topics: GroupTopics, names: Iterable[str]) -> None:
        self._ids = {name: topic_id for name in names if (topic_id := topics.topic_id(name)) is not None}
        self._counts = {topic_id: topics.partition_count(topic_id) for topic_id in self._ids.values()}

    def topic_id(self, name: str) -> bytes | None:
        """The id of the topic of a name, or None."""
        return self._ids.get(name)

    def partition_count(self, topic_id: bytes) -> int:
        """The number of partitions of a topic, -1 if the copy does not have it."""
        return self._counts.get(topic_id, -1)


def no_topics() -> GroupTopics:
    """The topics of a coordinator without metadata."""
    empty = MetadataImage()
    return GroupTopics(lambda: empty)
