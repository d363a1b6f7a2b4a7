"""Opens log directories without a lock and without changing a byte, even those of a running broker.

Owns: the overlay that keeps in memory what opening logs and metadata writes. Never does: writing to the disk.
Invariant: no recovery: the files are read as a broker has left them or is writing them.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from types import TracebackType

from odradek.protocol.errors import KafkaError
from odradek.protocol.records.errors import CorruptRecordError
from odradek.storage.directory.log_directory import LogDirectory
from odradek.storage.errors import StorageError
from odradek.storage.files.files import Files
from odradek.storage.files.meta_properties import read_meta_properties
from odradek.storage.files.overlay_files import OverlayFiles
from odradek.storage.log.log import Log
from odradek.storage.log.log_config import LogConfig

from ..config.server_config import ServerConfig
from ..config.topic_config import log_config_for
from ..metadata.image.image import MetadataDelta, MetadataImage, ResourceType
from ..metadata.image.replay import replay
from ..metadata.log.voter_log import VoterLog
from ..metadata.publisher.service import controller_endpoint
from ..server.dynamic_configs import config_under


def load_image(directory: LogDirectory, config: ServerConfig, now_ms: int) -> MetadataImage:
    """Loads the cluster metadata in a directory. Raises MetadataLogError, MetadataCorruption, KafkaError."""
    assert directory.meta is not None
    log = VoterLog.open(directory, directory.meta.node_id, controller_endpoint(config), config, now_ms)
    image, delta = MetadataImage(), MetadataDelta()
    for record in log.load():
        replay(image, record.message, delta, record.version)
    return image


class OfflineDirectories:
    """The log directories of one node, opened for reading. Use it in a ``with`` block, which closes them."""

    def __init__(self, paths: list[Path], config: ServerConfig, now_ms: int) -> None:
        """Raises StorageError for a path that is not a log directory, and the errors of :func:`load_image`."""
        self.files: Files = OverlayFiles()
        self.now_ms = now_ms
        self.image = MetadataImage()
        self.directories: list[LogDirectory] = []
        node_id = -1
        for path in paths:
            # Checked before the open, which would create a missing directory.
            meta = read_meta_properties(self.files, path) if path.is_dir() else None
            if meta is None:
                raise StorageError(f"{path} is not a formatted log directory; name the directories of log.dirs")
            directory = LogDirectory.open(path, self.files)
            directory.was_clean = True
            self.directories.append(directory)
            node_id = meta.node_id
            if (path / "__cluster_metadata-0").is_dir():
                self.image = load_image(directory, config, now_ms)
        self.config = config_under(self.image, config, node_id)

    def __enter__(self) -> "OfflineDirectories":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for directory in self.directories:
            directory.abort()

    def config_of(self, topic: str) -> LogConfig:
        """The log configuration of a topic: its configs in the metadata, with the broker's as defaults."""
        return log_config_for(self.config, self.topic_overrides(topic))

    def topic_overrides(self, topic: str) -> Mapping[str, str]:
        """The configs of a topic in the metadata, without the broker's defaults."""
        return self.image.config_of(ResourceType.TOPIC, topic)

    def logs(self, topics: frozenset[str]) -> Iterator[tuple[LogDirectory, str, int, Log | str]]:
        """Yields (directory, topic, partition, log) of each partition of ``topics``; empty means all topics.

        If a log can't be read, an error message takes its place. Each log is closed when the iteration continues.
        """
        for directory in self.directories:
            directory.find_logs(self.now_ms)
            for topic, partition in sorted(directory.found):
                if topics and topic not in topics:
                    continue
                log: Log | str
                try:
                    log = directory.open_log(topic, partition, self.config_of(topic), self.now_ms)
                except (CorruptRecordError, KafkaError) as problem:
                    log = f"can't be read: {problem}. If no broker is writing there, run `odradek storage check`"
                yield directory, topic, partition, log
                if isinstance(log, Log):
                    log.abort()
                    del directory.logs[topic, partition]
