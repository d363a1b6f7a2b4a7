"""What the broker does when the metadata changes: serves, drops and reconfigures partitions, and lets groups know.

Owns: the order of these steps. Never does: deciding, I/O of its own. Invariant: the request that caused a change is
answered after the last step (``metadata/service.py``). Source: ``BrokerMetadataPublisher``.
"""

import asyncio
from collections.abc import Callable, Iterator

from ..metadata.image import MetadataDelta, MetadataImage, ResourceType
from ..replicas.hosting import Hosting
from .broker import Broker


class MetadataReactions:
    """The broker's part in each change of the metadata, in steps."""

    def __init__(
        self, broker: Broker, hosting: Hosting, cordon: Callable[[], None], clock_ms: Callable[[], int]
    ) -> None:
        """``cordon`` takes over ``cordoned.log.dirs``; ``clock_ms``: milliseconds since the epoch."""
        self._broker = broker
        self._hosting = hosting
        self._cordon = cordon
        self._clock_ms = clock_ms

    def host_drafts(self, image: MetadataImage, delta: MetadataDelta) -> Iterator[None]:
        """Serves topics that are new or changed before the image shows them: a client that sees a topic can use it."""
        changed: dict[bytes, list[int]] = {}
        for topic_id, index in delta.changed_partitions:
            changed.setdefault(topic_id, []).append(index)
        for topic_id, indexes in changed.items():
            if topic_id in delta.drafts:
                yield from self._hosting.host_topic(delta.drafts[topic_id], indexes)

    def changed(self, image: MetadataImage, delta: MetadataDelta) -> Iterator[None]:
        """Drops and reconfigures what the records say."""
        broker, hosting = self._broker, self._hosting
        for topic in delta.deleted_topics.values():
            broker.replica_moves.topic_deleted(topic.name)
            yield from hosting.drop_topic(topic.name, self._clock_ms())
        yield from broker.coordinators.topics_deleted(delta.deleted_topics.values())
        yield from broker.coordinators.topics_changed(image, delta)
        if broker.configs_changed(image, delta):
            broker.coordinators.reconfigure(broker.config, image)
            asyncio.get_running_loop().call_soon(self._cordon)
            yield from hosting.reconfigure_all()
        for resource_type, name in delta.changed_configs:
            if resource_type == ResourceType.TOPIC:
                yield from hosting.reconfigure_topic(name)
