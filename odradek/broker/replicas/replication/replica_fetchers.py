"""All partitions that this broker follows, grouped by leader. Source: ReplicaFetcherManager.

Shell. Owns: one task for each leader that is followed. Never does: choosing leaders (the metadata names them).
"""

import asyncio
from collections.abc import Callable, Iterator

from odradek.storage.log.log import Log

from ...config.server_config import ServerConfig
from ...metadata.publisher.published import PublishedMetadata
from ...metrics.replica_state import FetcherState, FollowedReplica
from ...network.node_client import PLAINTEXT, NodeSecurity
from ..following import Following, ReplicaFollowing
from ..group_commit import GroupCommit
from ..replication_throttle import ReplicationThrottle
from .copy import Copy
from .fetch_session import Key
from .follower import FollowedPartition
from .leader_fetcher import FETCHING, FetcherSettings, LeaderFetcher


class ReplicaFetchers(ReplicaFollowing):
    """The followed partitions of a broker."""

    def __init__(
        self,
        metadata: PublishedMetadata,
        config: ServerConfig,
        broker_epoch: Callable[[], int],
        throttle: ReplicationThrottle,
        group_commit: GroupCommit,
        clock_ms: Callable[[], int],
        security: NodeSecurity = PLAINTEXT,
        out_of_space: Callable[[str, bytes, int], None] = lambda topic, topic_id, index: None,
    ) -> None:
        """``clock_ms``: wall clock, milliseconds since the epoch. ``security``: of the inter-broker listener.
        ``out_of_space`` is called with topic, topic id and index of a copy whose log has no room for what the leader
        sends."""
        self._metadata = metadata
        self._listener_name = config.inter_broker_listener_name
        self._broker_epoch = broker_epoch
        self._group_commit = group_commit
        self._clock_ms = clock_ms
        self._security = security
        self._out_of_space = out_of_space
        self._settings = FetcherSettings(
            config.get_int("replica.fetch.wait.max.ms"),
            config.get_int("replica.fetch.min.bytes"),
            config.get_int("replica.fetch.response.max.bytes"),
            config.get_int("replica.fetch.backoff.ms"),
            config.get_int("replica.socket.timeout.ms"),
        )
        self._max_bytes = config.get_int("replica.fetch.max.bytes")
        self._throttle = throttle
        self._fetchers: dict[int, LeaderFetcher] = {}
        self._tasks: dict[int, asyncio.Task[None]] = {}
        self._followed: dict[tuple[str, int], tuple[Key, int]] = {}
        """(topic, index) -> ((topic id, index), broker id of the leader)."""

    def follow(self, following: Following) -> None:
        """Starts to copy a partition from its leader, or continues with a new leader or leader epoch."""
        topic, index, leader_id = following.topic, following.index, following.leader_id
        key = following.topic_id, index
        known = self._followed.get((topic, index))
        if known == (key, leader_id):
            copy = self._fetchers[leader_id].copies[key]
            if copy.partition.leader_epoch == following.leader_epoch:
                return
        self.unfollow(topic, index)
        partition = FollowedPartition(
            following.topic_id, index, following.leader_epoch, self._settings.backoff_ms, self._max_bytes
        )
        self._fetcher(leader_id).follow(Copy(topic, partition, following.log, self._group_commit, following.visible))
        self._followed[topic, index] = key, leader_id

    def use_log(self, topic: str, index: int, log: Log) -> None:
        """Continues in another log with the same records. Does nothing if the partition is not followed."""
        known = self._followed.get((topic, index))
        if known is not None:
            key, leader_id = known
            self._fetchers[leader_id].copies[key].log = log

    def unfollow(self, topic: str, index: int) -> None:
        """Stops copying a partition. Does nothing if it is not followed."""
        known = self._followed.pop((topic, index), None)
        if known is not None:
            key, leader_id = known
            self._fetchers[leader_id].unfollow(key)

    def followed(self) -> Iterator[FollowedReplica]:
        """The partitions that are followed now."""
        for fetcher in list(self._fetchers.values()):
            for copy in list(fetcher.copies.values()):
                partition = copy.partition
                yield FollowedReplica(
                    fetcher.client_id, copy.topic, partition.index, copy.lag, has_failed=partition.has_failed
                )

    def fetchers(self) -> Iterator[FetcherState]:
        """The state of the fetcher of each leader that is or was followed."""
        for fetcher in list(self._fetchers.values()):
            yield fetcher.state

    def close(self) -> None:
        """Stops fetching."""
        for task in self._tasks.values():
            task.cancel()

    def _fetcher(self, leader_id: int) -> LeaderFetcher:
        fetcher = self._fetchers.get(leader_id)
        if fetcher is None:
            fetcher = self._fetchers[leader_id] = LeaderFetcher(
                leader_id,
                lambda: self._metadata.image.address(leader_id, self._listener_name),
                self._metadata.node_id,
                self._broker_epoch,
                self._settings,
                self._throttle,
                self._clock_ms,
                self._security,
                lambda copy: self._out_of_space(copy.topic, copy.partition.topic_id, copy.partition.index),
            )
            self._tasks[leader_id] = FETCHING.keep_running(fetcher.run)
        return fetcher
