"""Keeps the logs on disk in step with what the metadata says: opens, reconfigures, removes.

Owns: the log directories and which partition lies in which. Never does: deciding which topics there are. Invariant:
when a call returns, what it asked for is served (so CreateTopics may answer). Source: ``ReplicaManager.applyDelta``,
``LogManager``.
"""

import logging
from collections.abc import Callable, Mapping
from functools import partial

from ..storage.log import Log
from ..storage.log_config import LogConfig
from ..storage.log_directory import LogDirectory
from .group_commit import GroupCommit
from .internal_topics import INTERNAL_TOPICS
from .partition import Partition
from .partitions import Partitions

logger = logging.getLogger(__name__)


class Hosting:
    """The partitions of this broker and their logs."""

    def __init__(
        self,
        directories: list[LogDirectory],
        partitions: Partitions,
        log_config: Callable[[str], LogConfig],
        clock_ms: Callable[[], int],
        group_commit: GroupCommit,
    ) -> None:
        """``log_config``: topic -> its configuration as of now; ``clock_ms``: milliseconds since the epoch."""
        self._directories = directories
        self._partitions = partitions
        self._log_config = log_config
        self._clock_ms = clock_ms
        self._group_commit = group_commit

    def host_topic(self, topic: str, topic_id: bytes, leader_epochs: Mapping[int, int]) -> None:
        """Serves those partitions (index -> leader epoch) of a topic that are not served yet."""
        served = self._partitions.of_topic(topic)
        for index, leader_epoch in leader_epochs.items():
            partition = served.get(index)
            if partition is not None:
                partition.lead(leader_epoch)
                continue
            open_log = partial(self._log, topic, index, topic_id)
            partition = Partition(topic, topic_id, index, leader_epoch, open_log, self._group_commit)
            # The 50 partitions of the offsets topic exist from the start; their files come with the first group.
            if topic not in INTERNAL_TOPICS or self._lies_on_disk(topic, index):
                partition.log  # noqa: B018
            self._partitions.add(partition)

    def drop_topic(self, topic: str, now_ms: int) -> None:
        """Serves a topic no longer; its files go after ``file.delete.delay.ms``."""
        for partition in self._partitions.remove_topic(topic):
            for directory in self._directories:
                if (topic, partition.index) in directory.logs:
                    directory.delete_log(topic, partition.index, now_ms)

    def reconfigure_topic(self, topic: str) -> None:
        """Takes over the topic's configuration, at once."""
        served = self._partitions.of_topic(topic)
        if served:
            config = self._log_config(topic)
            for partition in served.values():
                if partition.open_log is not None:
                    partition.open_log.update_config(config)

    def reconfigure_all(self) -> None:
        """Takes over the configuration of all topics (the broker's defaults have changed)."""
        for topic in {partition.topic for partition in self._partitions}:
            self.reconfigure_topic(topic)

    def _lies_on_disk(self, topic: str, index: int) -> bool:
        return any((topic, index) in directory.logs for directory in self._directories)

    def _log(self, topic: str, index: int, topic_id: bytes) -> Log:
        """The partition's log: where it already lies, else a new one in the directory with the fewest."""
        now_ms = self._clock_ms()
        for directory in self._directories:
            log = directory.logs.get((topic, index))
            if log is not None:
                if log.topic_id is None or log.topic_id == topic_id:
                    return log
                logger.warning(
                    "%s-%d on disk belongs to a topic of that name which was deleted; it is removed", topic, index
                )
                directory.delete_log(topic, index, now_ms)
        fewest = min(self._directories, key=lambda directory: len(directory.logs))
        return fewest.open_log(topic, index, self._log_config(topic), now_ms, topic_id)
