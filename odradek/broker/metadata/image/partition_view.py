"""The view of a partition for the clients of one listener. Pure. Source: KRaftMetadataCache."""

from .image import MetadataImage, PartitionImage


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
