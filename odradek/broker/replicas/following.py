"""The interface through which the hosted replicas follow other brokers' partitions; :mod:`.replication` implements it.

Source: ReplicaManager's use of its ReplicaFetcherManager.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator

from odradek.protocol.common.holder import holder
from odradek.storage.log.log import Log

from ..metrics.replica_state import FetcherState, FollowedReplica


@holder()
class Following:
    """A partition to follow, with its log. ``visible`` is called with the number of bytes that consumers of this copy
    can read in addition; 0 if the copy was truncated."""

    topic: str
    topic_id: bytes
    index: int
    leader_id: int
    leader_epoch: int
    log: Log
    visible: Callable[[int], None]


class ReplicaFollowing(ABC):
    """Follows partitions that other brokers lead."""

    @abstractmethod
    def follow(self, following: Following) -> None:
        """Starts to copy a partition from its leader. If it is followed already, the new leader and epoch replace the
        old ones."""

    @abstractmethod
    def use_log(self, topic: str, index: int, log: Log) -> None:
        """Continues in another log with the same records, after the replica was moved to another directory. Does
        nothing if the partition is not followed."""

    @abstractmethod
    def followed(self) -> Iterator[FollowedReplica]:
        """The partitions that are followed now."""

    @abstractmethod
    def fetchers(self) -> Iterator[FetcherState]:
        """The state of the fetcher of each leader that is or was followed."""

    @abstractmethod
    def unfollow(self, topic: str, index: int) -> None:
        """Stops copying a partition. Does nothing if it is not followed."""
