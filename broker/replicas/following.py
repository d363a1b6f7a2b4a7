"""What the hosted replicas ask of replication, which stands above them: to follow other brokers' partitions.

Source: ReplicaManager's use of its ReplicaFetcherManager.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from ...storage.log.log import Log
from ..metrics.replica_state import FetcherState, FollowedReplica


@dataclass(frozen=True, slots=True)
class Following:
    """A partition to follow, with its log. ``visible`` gets the bytes that consumers of this copy see from now on, 0 if
    the copy was truncated."""

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
        """Copies a partition from its leader from now on; a later epoch replaces an earlier one."""

    @abstractmethod
    def use_log(self, topic: str, index: int, log: Log) -> None:
        """Goes on in another log with the same records: the replica was moved to another directory. Harmless if the
        partition is not followed."""

    @abstractmethod
    def followed(self) -> Iterator[FollowedReplica]:
        """All that are followed now."""

    @abstractmethod
    def fetchers(self) -> Iterator[FetcherState]:
        """The leaders that are or were followed."""

    @abstractmethod
    def unfollow(self, topic: str, index: int) -> None:
        """Copies a partition no longer; harmless if it is not followed."""
