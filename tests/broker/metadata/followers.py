"""Copies of a controller's metadata log, as in a broker of a cluster, and the states to compare them with."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from odradek.broker.config.server_config import ServerConfig
from odradek.broker.metadata.image.image import MetadataImage
from odradek.broker.metadata.log.snapshot_files import SnapshotId
from odradek.broker.metadata.publisher.followed import FollowedMetadata
from odradek.broker.metadata.publisher.service import MetadataService
from odradek.protocol.common.steps import run_to_end
from odradek.protocol.messages.structure import Message
from odradek.protocol.records.batch import iterate_headers
from odradek.storage.directory.log_directory import LogDirectory
from odradek.storage.files.files import Files
from odradek.storage.log.read_result import in_memory
from support.brokers.metadata_service import NOW_MS

FOLLOWER_ID = 71
CLUSTER_CONFIG = [
    f"node.id={FOLLOWER_ID}",
    "process.roles=broker",
    "controller.listener.names=CONTROLLER",
    "controller.quorum.voters=1@127.0.0.1:9093",
]


def append_raw(service: MetadataService, records: list[Message]) -> None:
    """Appends only to the leader's log, whose image is compared with the follower's at the end."""
    run_to_end(service.log.append(records, service.image.metadata_version, NOW_MS))


@contextmanager
def following(path: Path, cluster_id: str, files: Files | None = None) -> Iterator[FollowedMetadata]:
    """A follower on a directory, which ends as in a crash."""
    directory = LogDirectory.open(path, files or Files())
    try:
        if directory.meta is None:
            directory.format(cluster_id, FOLLOWER_ID, b"follower id 1234")
        config = ServerConfig.load(None, [*CLUSTER_CONFIG, "metadata.log.max.record.bytes.between.snapshots=1"], {})
        yield FollowedMetadata.open(directory, config, NOW_MS)
    finally:
        directory.abort()


@contextmanager
def open_image(path: Path) -> Iterator[MetadataService]:
    directory = LogDirectory.open(path)
    try:
        assert directory.meta is not None
        config = ServerConfig.load(None, [f"node.id={directory.meta.node_id}"], {})
        yield MetadataService.open(
            directory, config, directory_id=directory.meta.directory_id, now_ms=NOW_MS, random_uuid=lambda: bytes(16)
        )
    finally:
        directory.abort()


def whole_image(path: Path) -> MetadataImage:
    """The image that a start reads from a leader's log."""
    with open_image(path) as service:
        return service.image


def same(left: MetadataImage, right: MetadataImage) -> bool:
    """Whether two images are equal apart from their offsets."""
    return replace(left, last_offset=0, last_epoch=0, last_timestamp_ms=0, shared=set()) == replace(
        right, last_offset=0, last_epoch=0, last_timestamp_ms=0, shared=set()
    )


def batches_of(service: MetadataService, offset: int, end: int) -> bytes:
    """The leader's batches from one offset to another, exclusive. Both are bounds of batches."""
    data = in_memory(service.log._log.read(offset, 1 << 20).data)
    return b"".join(
        data[position : position + header.size_in_bytes]
        for position, header in iterate_headers(data)
        if offset <= header.base_offset < end
    )


def replace_by(followed: FollowedMetadata, snapshot_id: SnapshotId, snapshot: bytes) -> None:
    """Replaces the log by a snapshot of the controllers at once."""
    received = followed.log.receive_snapshot(snapshot_id)
    received.write(snapshot)
    run_to_end(followed.replace(received, followed.log.check_received(received), NOW_MS))
