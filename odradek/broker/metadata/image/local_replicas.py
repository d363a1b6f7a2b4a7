"""The replicas in this broker's log directories according to a metadata image.

Pure. Owns: the look-ups that log directories need when they find partitions. Never does: changing an image. Source:
``LogManager`` and ``ReplicaManager`` of Kafka, which do the same look-ups.
"""

from odradek.storage.directory.log_directory import LogDirectory

from .image import MetadataImage


class LocalReplicas:
    """One broker's replicas in one image."""

    def __init__(self, image: MetadataImage, node_id: int) -> None:
        self._image = image
        self._node_id = node_id

    def topic_id(self, topic: str) -> bytes | None:
        """The id of a topic; None for an unknown name."""
        known = self._image.topics_by_name.get(topic)
        return None if known is None else known.topic_id

    def assigned_directory(self, topic: str, index: int) -> bytes | None:
        """The directory id of this broker's replica of a partition; None if it has no replica."""
        partition = self._image.partition(topic, index)
        if partition is None or self._node_id not in partition.replicas:
            return None
        return partition.directory_of(self._node_id)

    def id_in_directory(self, directory: LogDirectory, topic: str, index: int) -> bytes | None:
        """The topic id of a partition if the metadata places it in the directory, else None."""
        known = self._image.topics_by_name.get(topic)
        partition = None if known is None else known.partitions.get(index)
        if known is None or partition is None or directory.directory_id not in partition.directories:
            return None
        return known.topic_id

    def is_stray(self, topic: str, index: int, topic_id: bytes | None) -> bool:
        """Whether a partition's directory belongs to no topic of the metadata (``LogManager.isStrayKraftReplica``).

        ``topic_id``: the id in the directory's ``partition.metadata``, or None.
        """
        known = self._image.topics_by_name.get(topic)
        if known is None or topic_id not in (None, known.topic_id):
            return True
        partition = known.partitions.get(index)
        return partition is None or self._node_id not in partition.replicas
