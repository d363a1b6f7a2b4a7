"""Finds the partitions of a commit of offsets in the metadata. Pure.

Source: ``KafkaApis.handleOffsetCommitRequest``, ``KafkaApis.handleTxnOffsetCommitRequest``.
"""

from collections.abc import Callable, Iterable
from typing import Any, Protocol, TypeVar

from odradek.protocol.errors import ErrorCode

from ..metadata.image.image import MetadataImage


class AskedPartition(Protocol):
    """A partition of a request."""

    @property
    def partition_index(self) -> int:
        """Its index."""


class AskedTopic(Protocol):
    """A topic of a request."""

    name: str
    topic_id: bytes
    partitions: Any
    """The list of its partitions."""


Partition = TypeVar("Partition", bound=AskedPartition)
Commit = TypeVar("Commit")
Failed = TypeVar("Failed")


def known_partitions(
    image: MetadataImage,
    topics: Iterable[AskedTopic],
    *,
    by_id: bool,
    commit: Callable[[str, bytes, list[Partition]], Commit],
    failed: Callable[[str, bytes, list[Partition], ErrorCode], Failed],
) -> tuple[list[Commit], list[Failed]]:
    """The commits for known partitions, and the errors of unknown ones.

    ``by_id``: whether the request names topics by their ids. ``commit``, ``failed``: make them of the topic's name, its
    id and partitions.
    """
    commits: list[Commit] = []
    unknown: list[Failed] = []
    for topic in topics:
        if by_id:
            found = image.topics_by_id.get(topic.topic_id)
            error = ErrorCode.UNKNOWN_TOPIC_ID
        else:
            found = image.topics_by_name.get(topic.name)
            error = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        if found is None:
            unknown.append(failed(topic.name, topic.topic_id, topic.partitions, error))
            continue
        known = [partition for partition in topic.partitions if partition.partition_index in found.partitions]
        if len(known) < len(topic.partitions):
            strange = [one for one in topic.partitions if one.partition_index not in found.partitions]
            unknown.append(failed(found.name, found.topic_id, strange, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION))
        if known:
            commits.append(commit(found.name, found.topic_id, known))
    return commits, unknown
