"""Where the logs of this broker's replicas lie: opens them in the directory that the metadata names, or chooses one.

Owns: the directory of each replica as the metadata has it, and the topics' configurations. Never does: serving a
partition. Invariant: a log is opened only if it belongs to the topic of that id; another one of the same name is set
aside. Source: ``LogManager.getOrCreateLog``, ``Partition.createLogInAssignedDirectoryId``.
"""

import logging
from collections.abc import Callable

from odradek.storage.directory.log_directories import LogDirectories
from odradek.storage.directory.log_directory import LogDirectory
from odradek.storage.errors import CorruptCheckpointError, StorageError
from odradek.storage.log.log import Log
from odradek.storage.log.log_config import LogConfig

from ..metadata.image.image import DIRECTORY_MIGRATING, DIRECTORY_UNASSIGNED, TopicImage

logger = logging.getLogger(__name__)

ANYWHERE = (DIRECTORY_MIGRATING, DIRECTORY_UNASSIGNED)
"""Directory ids that stand for no directory: the broker may choose one."""
MAX_PREFERRED = 10_000
"""The most partitions for which :meth:`ReplicaLogs.prefer` keeps a directory; beyond it the oldest is forgotten. Kafka
has no limit."""


Placed = Callable[[bytes, int, bytes], None]
"""Called with topic id, partition index and directory id if a replica lies in another directory than the metadata
says."""


class ReplicaLogs:
    """The logs of this broker's replicas."""

    def __init__(
        self,
        directories: LogDirectories,
        log_config: Callable[[str], LogConfig],
        clock_ms: Callable[[], int],
        placed: Placed | None = None,
    ) -> None:
        """``log_config``: topic -> its current configuration; ``clock_ms``: milliseconds since the epoch. ``placed``:
        None for a broker that is its own controller, which chooses the directories."""
        self._directories = directories
        self._log_config = log_config
        self._clock_ms = clock_ms
        self._placed = placed
        self.leaves_for: dict[tuple[str, int], bytes] = {}
        """Partition -> the directory id that a move has announced; its log still lies in another directory."""
        self._configs: dict[str, LogConfig] = {}
        self._assigned: dict[tuple[str, int], bytes] = {}
        self._preferred: dict[tuple[str, int], bytes] = {}
        """Partition without a replica here -> the directory id that an operator wants for one."""

    def config_of(self, topic: str) -> LogConfig:
        """A topic's current configuration. It is computed once for all its partitions."""
        config = self._configs.get(topic)
        if config is None:
            config = self._configs[topic] = self._log_config(topic)
        return config

    def forget_config(self, topic: str) -> None:
        """Forgets the configuration of a topic that has changed or is gone."""
        self._configs.pop(topic, None)

    def take_directory(self, topic: TopicImage, index: int, assigned: bytes) -> None:
        """Stores the directory that the metadata names, and calls ``placed`` if the log lies in another one.

        If the metadata leaves the choice to this broker, the directory it has chosen stays stored. Source:
        ``ReplicaManager.maybeUpdateTopicAssignment``.
        """
        key = topic.name, index
        if assigned not in ANYWHERE or key not in self._assigned:
            self._assigned[key] = assigned
        if self._placed is None or self.leaves_for.get(key) == assigned:
            return
        holder = self._directories.holder(topic.name, index)
        if holder is None or holder.directory_id == assigned:
            return
        if holder.topic_id_of(topic.name, index) in (None, topic.topic_id):
            # A replica in no directory (it was handed over) is reported in the one for which it is about to leave.
            self._placed(topic.topic_id, index, self.leaves_for.get(key, holder.directory_id))

    def prefer(self, topic: str, index: int, directory: LogDirectory) -> None:
        """Remembers the directory in which to create the log, if the controllers place a replica here later.

        Does nothing for a broker that is its own controller, or if the replica exists. Source:
        ``LogManager.maybeUpdatePreferredLogDir``.
        """
        key = topic, index
        if self._placed is None or self._directories.holder(topic, index) is not None:
            return
        self._preferred.pop(key, None)
        self._preferred[key] = directory.directory_id
        if len(self._preferred) > MAX_PREFERRED:
            del self._preferred[next(iter(self._preferred))]

    def forget_directory(self, topic: str, index: int) -> None:
        """Forgets the directory of a replica that is gone."""
        self._assigned.pop((topic, index), None)

    def checkpointed_high_watermark(self, topic: str, index: int) -> int:
        """The high watermark of the last checkpoint, 0 without one."""
        holder = self._directories.holder(topic, index)
        return 0 if holder is None else holder.high_watermarks.get((topic, index), 0)

    def open(self, topic: str, index: int, topic_id: bytes) -> Log:
        """The partition's log: the existing one, or a new one in the directory that the metadata names.

        Raises KafkaError.
        """
        now_ms = self._clock_ms()
        config = self.config_of(topic)
        holder = self._directories.holder(topic, index)
        if holder is not None:
            _check_topic_id(holder, topic, index)
        directory = self._directories.holder(topic, index)
        if directory is not None:
            if directory.topic_id_of(topic, index) in (None, topic_id):
                return directory.open_log(topic, index, config, now_ms, topic_id)
            logger.warning("%s-%d on disk belongs to a deleted topic of that name; removing it", topic, index)
            directory.delete_log(topic, index, now_ms, config.file_delete_delay_ms)
        chosen = self._place(topic, index)
        log = chosen.open_log(topic, index, config, now_ms, topic_id)
        if self._placed is not None and self._assigned.get((topic, index)) != chosen.directory_id:
            self._assigned[topic, index] = chosen.directory_id
            self._placed(topic_id, index, chosen.directory_id)
        return log

    def _place(self, topic: str, index: int) -> LogDirectory:
        """The directory for a new log: the one of :meth:`prefer`, else the one that the metadata names, else
        :meth:`LogDirectories.next_directory`.

        Raises StorageError if the metadata names one that is offline.
        """
        if self._is_offline(topic, index):
            raise StorageError(f"the log directory of {topic}-{index} is offline")
        assigned = self._assigned.get((topic, index), DIRECTORY_UNASSIGNED)
        preferred = self._preferred.pop((topic, index), assigned)
        directory = self._directories.by_id(preferred) or self._directories.by_id(assigned)
        return self._directories.next_directory() if directory is None else directory

    def has_failed(self, topic: str, index: int) -> bool:
        """Whether the metadata still names an offline directory for a replica: the controllers do not know of the
        failure yet. False for a broker that is its own controller."""
        if self._placed is None or self._directories.holder(topic, index) is not None:
            return False
        return self._is_offline(topic, index)

    def _is_offline(self, topic: str, index: int) -> bool:
        """Whether the metadata names a directory that is offline.

        False for a broker of a cluster if all its directories are online and none has that id: a disk was replaced, and
        the replica is copied anew. Source: ``Partition.createLogInAssignedDirectoryId``.
        """
        directory_id = self._assigned.get((topic, index), DIRECTORY_UNASSIGNED)
        if directory_id in ANYWHERE or self._directories.by_id(directory_id) is not None:
            return False
        return self._placed is None or bool(self._directories.offline)

    def open_found(self, directory: LogDirectory, topic: str, index: int, topic_id: bytes | None) -> None:
        """Opens a log that the start has found and that is not in use yet. Raises StorageError."""
        _check_topic_id(directory, topic, index)
        config, now_ms = self.config_of(topic), self._clock_ms()
        # It is not in use yet, so it needs no descriptor.
        directory.open_log(topic, index, config, now_ms, topic_id).release_files()

    def stays(self, topic: str, index: int, topic_id: bytes, announced: bytes) -> None:
        """Tells the controllers where a log still lies, after a move that was announced to them has failed.

        ``announced``: the directory id of that move. Does nothing if another one was announced since.
        """
        if self.leaves_for.get((topic, index)) != announced:
            return
        del self.leaves_for[topic, index]
        holder = self._directories.holder(topic, index)
        if self._placed is None or holder is None:
            return
        if holder.topic_id_of(topic, index) in (None, topic_id):
            self._placed(topic_id, index, holder.directory_id)


def _check_topic_id(directory: LogDirectory, topic: str, index: int) -> None:
    """Reads the topic id of a log on disk, which the start has only assumed from the metadata. A log of another topic
    of the same name is set aside as a stray.

    Such a log appears if an old copy of the directory is restored while the broker is down. Raises StorageError.
    """
    found = directory.found.get((topic, index))
    if found is None or found.is_read:
        return
    try:
        read = found.read(directory.files)
        if read.topic_id in (None, found.topic_id):
            directory.found[topic, index] = read
        else:
            logger.warning("%s-%d on disk belongs to another topic of that name; renaming it to -stray", topic, index)
            directory.make_stray((topic, index))
    except OSError as error:
        raise directory.storage_error(error) from error
    except CorruptCheckpointError as damage:
        raise StorageError(str(damage)) from damage
