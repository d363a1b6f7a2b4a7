"""Where partitions are led now, for answers that tell a client which broker to ask instead (KIP-951).

Pure. Owns: the brokers that one answer names. Source: ``KafkaApis.getCurrentLeader``.
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
