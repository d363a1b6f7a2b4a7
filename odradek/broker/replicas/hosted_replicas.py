"""Keeps the partitions of this broker in step with the metadata: serves, leads, follows and removes them.

Owns: the served partitions. Never does: deciding which topics exist, or where a log lies (:mod:`.replica_logs`).
Invariant: after the last step of a call, the partitions are served, so CreateTopics may answer. One step is one
partition: creating its files takes 0.5 to 3 ms. Source: ``ReplicaManager.applyDelta``, ``LogManager``.
"""

import logging
from collections.abc import Callable, Iterable
from functools import partial
from itertools import islice

from odradek.protocol.common.steps import Steps
from odradek.protocol.errors import ErrorCode, KafkaError
from odradek.protocol.names.topics import INTERNAL_TOPICS
from odradek.storage.directory.log_directories import LogDirectories
from odradek.storage.directory.log_directory import LogDirectory
from odradek.storage.files.disk_errors import is_passing
from odradek.storage.log.log import Log
from odradek.storage.log.log_config import LogConfig

from ..metadata.image.image import NO_LEADER, PartitionImage, TopicImage
from ..timers.work import KindOfWork
from .following import Following, ReplicaFollowing
from .group_commit import GroupCommit
from .leaders import Leaders
from .partition import Partition
from .partitions import Partitions
from .replica_logs import Placed, ReplicaLogs
from .writer_threads import WriterThreads

logger = logging.getLogger(__name__)

HOSTING = KindOfWork("partition-hosting", "serves, leads or follows a partition as the metadata says")


def nothing_dropped(topic: str, index: int) -> None:
    """The ``dropped`` of a broker whose replicas don't move between directories."""


def not_again(topic_id: bytes, index: int) -> None:
    """The ``host_again`` of partitions that the next change of the metadata hosts again."""


class HostedReplicas:
    """The partitions of this broker and their logs."""

    def __init__(
        self,
        directories: LogDirectories,
        partitions: Partitions,
        log_config: Callable[[str], LogConfig],
        clock_ms: Callable[[], int],
        group_commit: GroupCommit,
        node_id: int,
        *,
        replication: ReplicaFollowing | None = None,
        leaders: Leaders | None = None,
        placed: Placed | None = None,
        dropped: Callable[[str, int], None] = nothing_dropped,
        host_again: Callable[[bytes, int], None] = not_again,
    ) -> None:
        """``log_config``: topic -> its current configuration; ``clock_ms``: milliseconds since the epoch.

        ``replication`` follows other brokers' partitions, and ``leaders`` leads partitions with several replicas; None
        for a broker that is its own controller. ``placed``: as for :class:`ReplicaLogs`. ``dropped`` is called with
        topic and index if a replica was moved to other brokers. ``host_again`` is called with topic id and index of a
        partition that could not be hosted for a reason that passes, such as a lack of descriptors: host it again later.
        """
        self._directories = directories
        self._partitions = partitions
        self._clock_ms = clock_ms
        self._group_commit = group_commit
        self._writers = WriterThreads()
        self._node_id = node_id
        self.logs = ReplicaLogs(directories, log_config, clock_ms, placed)
        self.replication = replication
        self.leaders = leaders
        self._dropped = dropped
        self._host_again = host_again

    def host_topic(self, topic: TopicImage, indexes: Iterable[int] | None = None) -> Steps[None]:
        """Leads, follows or refuses the partitions of a topic, as the metadata says.

        ``indexes``: the partitions, None for all. Continues after a partition that can't be hosted. Raises the first
        KafkaError at the end; any other exception is counted and logged.
        """
        refusal: KafkaError | None = None
        for index in topic.partitions if indexes is None else indexes:
            yield
            try:
                self._host(topic, index, topic.partitions[index])
            except KafkaError as error:
                refusal = refusal or error.with_traceback(None)
                if is_passing(error):
                    self._host_again(topic.topic_id, index)
            except Exception as error:  # noqa: BLE001 - a bug ends the hosting of this partition only
                HOSTING.failed(f"{topic.name}-{index}", error)
        if refusal is not None:
            try:
                raise refusal
            finally:
                refusal = None  # its traceback holds this frame: a cycle

    def _host(self, topic: TopicImage, index: int, image: PartitionImage) -> None:
        partition = self._partitions.find(topic.name, index)
        is_new = partition is None
        if partition is None:
            partition = self._add(topic, index, image.leader_epoch)
        if image.leader_epoch < 0:
            HOSTING.failed(
                f"{topic.name}-{index} has leader epoch {image.leader_epoch} in the metadata: it is not served"
            )
            partition.refuse(ErrorCode.LEADER_NOT_AVAILABLE)
            return
        partition.is_replica = self._node_id in image.replicas
        if partition.is_replica:
            self.logs.take_directory(topic, index, image.directory_of(self._node_id))
        open_log = partial(self.logs.open, topic.name, index, topic.topic_id)
        leads = image.leader == self._node_id
        if self.replication is not None:
            if not partition.is_replica:
                self._drop_replica(topic.name, index)
            if leads:
                self.replication.unfollow(topic.name, index)
            elif partition.is_replica and len(image.replicas) > 1:
                self._follow(self.replication, partition, image)
                return
        if not is_new and partition.refusal is None and leads:
            partition.lead(image.leader_epoch)
            self._lead_followers(partition, image)
            return
        if leads and self.logs.has_failed(topic.name, index):
            partition.refuse(ErrorCode.KAFKA_STORAGE_ERROR)
        elif leads:
            partition.serve(image.leader_epoch, open_log)
            self._open_where_needed(partition)
            self._lead_followers(partition, image)
            partition.notify(0)  # wakes consumers that wait since this broker was a follower
        else:
            partition.leader_epoch = image.leader_epoch
            if partition.refusal is None:
                partition.refuse(ErrorCode.NOT_LEADER_OR_FOLLOWER)

    def _add(self, topic: TopicImage, index: int, leader_epoch: int) -> Partition:
        open_log = partial(self.logs.open, topic.name, index, topic.topic_id)
        partition = Partition(
            topic.name, topic.topic_id, index, leader_epoch, open_log, self._group_commit, self._writers
        )
        self._partitions.add(partition)
        return partition

    def _lead_followers(self, partition: Partition, image: PartitionImage) -> None:
        """Begins or continues to lead a partition's followers; without any, ends waiting for them. Raises KafkaError if
        its log can't be opened.
        """
        if self.leaders is None:
            return
        if len(image.replicas) == 1:
            holder = self._directories.holder(partition.topic, partition.index)
            log = None if holder is None else holder.logs.get((partition.topic, partition.index))
            self.leaders.lead_alone(partition, image, log)
            return
        log = partition.open_log
        if log is not None and partition.leading is None and not log.offsets.has_high_watermark:
            high_watermark = log.high_watermark  # it was the only replica
        else:
            high_watermark = self.logs.checkpointed_high_watermark(partition.topic, partition.index)
        self.leaders.lead(partition, image, self.logs.config_of(partition.topic), high_watermark)

    def _follow(self, replication: ReplicaFollowing, partition: Partition, image: PartitionImage) -> None:
        """Follows the leader of a partition with several replicas. Raises KafkaError if its log can't be opened.

        While the partition has no leader, the copy stays as it is, and consumers may read it.
        """
        topic, index = partition.topic, partition.index
        is_new_epoch = partition.leader_epoch != image.leader_epoch
        partition.leader_epoch = image.leader_epoch
        if self.logs.has_failed(topic, index):
            replication.unfollow(topic, index)
            if partition.refusal is None:
                partition.refuse(ErrorCode.KAFKA_STORAGE_ERROR)
            return
        log = partition.copy
        if log is None or is_new_epoch:
            partition.refuse(ErrorCode.NOT_LEADER_OR_FOLLOWER)  # ends its own appends before it copies the leader's
            log = self.logs.open(topic, index, partition.topic_id)
            if not log.offsets.has_high_watermark:
                log.offsets.set_high_watermark(self.logs.checkpointed_high_watermark(topic, index))
            partition.copy = log
        if image.leader == NO_LEADER:
            replication.unfollow(topic, index)
            return
        replication.follow(
            Following(topic, partition.topic_id, index, image.leader, image.leader_epoch, log, partition.notify)
        )

    def _drop_replica(self, topic: str, index: int) -> None:
        """Removes the replica of a partition that was moved to other brokers. Its files are deleted after
        ``file.delete.delay.ms``.
        """
        self.logs.forget_directory(topic, index)
        if self.replication is not None:
            self.replication.unfollow(topic, index)
        directory = self._directories.holder(topic, index)
        if directory is None:
            return
        logger.info("%s-%d was moved to other brokers; removing its files", topic, index)
        self._dropped(topic, index)
        partition = self._partitions.find(topic, index)
        if partition is not None and (partition.refusal is None or partition.copy is not None):
            partition.refuse(ErrorCode.NOT_LEADER_OR_FOLLOWER)
        directory.delete_log(topic, index, self._clock_ms(), self.logs.config_of(topic).file_delete_delay_ms)

    def _open_where_needed(self, partition: Partition) -> None:
        """Creates the log of a new partition, and opens an existing log of an internal topic, which is read at once.
        Other logs are opened on first use.

        A partition of an internal topic is not created here: the 50 partitions of __consumer_offsets get their files
        with the first group.
        """
        holder = self._directories.holder(partition.topic, partition.index)
        # A kill can leave a directory without a topic id. A Kafka that starts next would take it for a stray.
        is_nameless = holder is not None and holder.topic_id_of(partition.topic, partition.index) is None
        if is_nameless or (partition.topic in INTERNAL_TOPICS) == (holder is not None):
            partition.log  # noqa: B018

    def open_replica(self, topic: str, index: int) -> Partition:
        """The partition of a replica that lies here; its log is open. It may be led, followed, or without a leader.

        Raises KafkaError: UNKNOWN_TOPIC_OR_PARTITION, REPLICA_NOT_AVAILABLE (only other brokers have replicas, or it is
        not created yet), KAFKA_STORAGE_ERROR.
        """
        partition = self._partitions.get(topic, index)
        if partition.refusal is ErrorCode.KAFKA_STORAGE_ERROR:
            raise KafkaError(ErrorCode.KAFKA_STORAGE_ERROR, f"Partition {topic}-{index} is offline")
        if partition.refusal is None:
            partition.log  # noqa: B018 - opens it if it was not used yet
        elif self._directories.holder(topic, index) is None:
            raise KafkaError(ErrorCode.REPLICA_NOT_AVAILABLE, f"{topic}-{index} has no replica here")
        else:
            self.logs.open(topic, index, partition.topic_id)
        return partition

    def use_log(self, partition: Partition, log: Log) -> None:
        """Continues with ``log``, after the replica was moved to another directory of this broker."""
        if partition.refusal is None:
            partition.use_log(log)
        elif self.replication is not None:
            if partition.copy is not None:
                partition.copy = log
            self.replication.use_log(partition.topic, partition.index, log)

    def open_some(self, count: int) -> bool:
        """Opens the logs of up to ``count`` partitions that were not used since the start.

        Returns False once all are open. A partition whose log can't be opened answers the error's code. Retention
        and the cleaner work on open logs only, and damage should be found early.
        """
        for directory in self._directories.online:
            for (topic, index), found in list(islice(directory.unopened(), count)):
                try:
                    self.logs.open_found(directory, topic, index, found.topic_id)
                except KafkaError as error:
                    directory.refuse((topic, index), error.with_traceback(None))
                count -= 1
            if count <= 0:
                return True
        return any(True for directory in self._directories.online for _ in directory.unopened())

    def directory_failed(self, directory: LogDirectory) -> list[Partition]:
        """Makes the partitions of a directory answer KAFKA_STORAGE_ERROR before it goes offline. Returns them."""
        failed = []
        for topic, index in [*directory.logs, *directory.found]:
            partition = self._partitions.find(topic, index)
            if partition is not None:
                partition.refuse(ErrorCode.KAFKA_STORAGE_ERROR)
                failed.append(partition)
            if self.replication is not None:
                self.replication.unfollow(topic, index)
        return failed

    def drop_topic(self, topic: str, now_ms: int) -> Steps[None]:
        """Stops serving a topic. Its files are removed after ``file.delete.delay.ms``.

        The new names are synced once, at the end. If a power failure undoes a rename, the next start finds a stray.
        """
        delay_ms = self.logs.config_of(topic).file_delete_delay_ms
        self.logs.forget_config(topic)
        removed = self._partitions.remove_topic(topic)
        removed.reverse()
        while removed:
            yield
            partition = removed.pop()  # frees them one by one: 9,999 at once, with their logs, take 50 ms
            if self.replication is not None:
                self.replication.unfollow(topic, partition.index)
            partition.resign()
            partition.notify(0)
            self.logs.forget_directory(topic, partition.index)
            directory = self._directories.holder(topic, partition.index)
            if directory is not None:
                try:
                    directory.delete_log(topic, partition.index, now_ms, delay_ms, sync=False)
                except KafkaError as error:
                    # The topic is not in the metadata any more: the next start finds a stray.
                    logger.error("%s-%d could not be deleted: %s", topic, partition.index, error)
        yield
        try:
            self._directories.sync_names()
        except KafkaError as error:
            logger.error("the deletion of %s is not durable: %s", topic, error)

    def reconfigure_topic(self, topic: str) -> Steps[None]:
        """Applies the topic's configuration."""
        self.logs.forget_config(topic)
        for index in list(self._partitions.of_topic(topic)):
            yield
            directory = self._directories.holder(topic, index)
            log = None if directory is None else directory.logs.get((topic, index))
            if log is not None:
                log.update_config(self.logs.config_of(topic))
            partition = self._partitions.find(topic, index)
            if partition is not None and partition.leading is not None:
                partition.leading.set_min_isr(self.logs.config_of(topic).min_insync_replicas)

    def reconfigure_all(self) -> Steps[None]:
        """Applies the configuration of all topics, because the broker's defaults have changed."""
        for topic in self._partitions.topics():
            yield from self.reconfigure_topic(topic)
