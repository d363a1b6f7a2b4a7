"""The view of a partition for the clients of one listener, and where partitions are led now (KIP-951). Pure.

Source: KRaftMetadataCache, ``KafkaApis.getCurrentLeader``.
"""

from .image import Endpoint, MetadataImage, PartitionImage


class CurrentLeaders:
    """The leaders that one answer names."""

    def __init__(self, image: MetadataImage, listener_name: str) -> None:
        """``listener_name``: the listener that the client uses."""
        self.endpoints: dict[int, Endpoint] = {}
        """Broker id -> endpoint, of the leaders found so far that are not fenced."""
        self._image = image
        self._listener_name = listener_name

    def find(self, topic: str, index: int) -> PartitionImage | None:
        """The partition with its leader and epoch; None if the metadata does not have it."""
        partition = self._image.partition(topic, index)
        if partition is not None:
            endpoint = self._image.endpoint(partition.leader, self._listener_name)
            if endpoint is not None:
                self.endpoints[partition.leader] = endpoint
        return partition


def offline_replicas(image: MetadataImage, partition: PartitionImage, listener_name: str) -> list[int]:
    """The replicas whose broker is fenced, unknown, or not on this listener, or whose directory is offline."""
    offline = []
    for broker_id, directory in zip(partition.replicas, partition.directories, strict=True):
        broker = image.brokers.get(broker_id)
        if (
            broker is None
            or broker.fenced
            or listener_name not in broker.endpoints
            or not broker.has_online_directory(directory)
        ):
            offline.append(broker_id)
    return offline
