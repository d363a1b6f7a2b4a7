"""`meta.properties`, `partition.metadata` and `.kafka_cleanshutdown`: the directory's identity and whether it was
closed cleanly.

    meta.properties        `version=1`, `node.id`, `cluster.id`, `directory.id` (base64url of 16 bytes, no padding)
    partition.metadata     `version: 0` and `topic_id: ` with the id in the same base64url
    .kafka_cleanshutdown   `{"version":0,"brokerEpoch":N}`; written last at a clean stop, removed once logs are loaded

Pure but for log lines and the given file layer. Source: Kafka's MetaProperties (KIP-866), PartitionMetadataFile,
CleanShutdownFileHandler (KIP-966).
"""

import base64
import binascii
import json
import logging
from pathlib import Path
from typing import NamedTuple

from ..errors import CorruptCheckpointError
from .file_names import PARTITION_METADATA
from .files import Files

logger = logging.getLogger(__name__)

META_PROPERTIES = "meta.properties"
CLEAN_SHUTDOWN_FILE = ".kafka_cleanshutdown"
UNKNOWN_BROKER_EPOCH = -1
UUID_BYTES = 16


class MetaProperties(NamedTuple):
    """The identity of a log directory. `directory_id` has 16 bytes; it is empty if Kafka before 3.7 wrote the file."""

    cluster_id: str
    node_id: int
    directory_id: bytes


def uuid_text(uuid: bytes) -> str:
    """16 bytes as Kafka writes them: base64url without padding, 22 characters."""
    assert len(uuid) == UUID_BYTES
    return base64.urlsafe_b64encode(uuid).decode().rstrip("=")


def parse_uuid(text: str) -> bytes:
    """The 16 bytes of a base64url text. Raises ValueError."""
    try:
        uuid = base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
    except binascii.Error as error:
        raise ValueError(f"{text!r} is not base64url: {error}") from error
    if len(uuid) != UUID_BYTES:
        raise ValueError(f"{text!r} has {len(uuid)} bytes, not {UUID_BYTES}")
    return uuid


def read_meta_properties(files: Files, directory: Path) -> MetaProperties | None:
    """The properties of a log directory; None if it was never formatted. Raises CorruptCheckpointError, OSError."""
    path = directory / META_PROPERTIES
    try:
        text = files.read_file(path).decode()
    except FileNotFoundError:
        return None
    except UnicodeDecodeError as error:
        raise CorruptCheckpointError(f"{path}: {error}") from error
    properties = {
        key.strip(): value.strip().replace("\\", "")
        for key, separator, value in (line.partition("=") for line in text.splitlines() if not line.startswith("#"))
        if separator
    }
    if "version" not in properties:
        raise CorruptCheckpointError(
            f"{path}: version is missing: the file is empty or incomplete. Restore it from a copy, or write it again"
            " with the cluster.id and node.id of the other log directories"
        )
    if properties["version"] != "1":
        raise CorruptCheckpointError(f"{path}: version {properties['version']} is unknown, only 1 is supported")
    try:
        directory_id = parse_uuid(properties["directory.id"]) if "directory.id" in properties else b""
        return MetaProperties(properties["cluster.id"], int(properties["node.id"]), directory_id)
    except KeyError as missing:
        raise CorruptCheckpointError(f"{path}: {missing} is missing") from None
    except ValueError as error:
        raise CorruptCheckpointError(f"{path}: {error}") from None


def write_meta_properties(files: Files, directory: Path, meta: MetaProperties) -> None:
    """Replaces the file, durably. Raises OSError."""
    lines = (
        "version=1",
        f"cluster.id={meta.cluster_id}",
        f"node.id={meta.node_id}",
        f"directory.id={uuid_text(meta.directory_id)}",
    )
    files.write_file(directory / META_PROPERTIES, "".join(f"{line}\n" for line in lines).encode())


def read_partition_metadata(files: Files, directory: Path) -> bytes | None:
    """The topic id of a partition's directory, None without the file. Raises CorruptCheckpointError, OSError.

    An empty file, or one of zeros only, counts as missing. A power failure leaves such a file if it was never synced,
    that is, before the first flush of the log returned.
    """
    path = directory / PARTITION_METADATA
    try:
        data = files.read_file(path)
        text = data.decode()
    except FileNotFoundError:
        return None
    except UnicodeDecodeError as error:
        raise CorruptCheckpointError(f"{path}: {error}") from error
    if not data.strip(b"\0"):
        logger.warning("%s is empty, probably after a power failure; writing the topic id again", path)
        return None
    fields = dict(line.split(": ", 1) for line in text.splitlines() if ": " in line)
    if fields.get("version") != "0":
        raise CorruptCheckpointError(f"{path}: version {fields.get('version')} is unknown, only 0 is supported")
    try:
        return parse_uuid(fields.get("topic_id", ""))
    except ValueError as error:
        raise CorruptCheckpointError(f"{path}: {error}") from None


def write_partition_metadata(files: Files, directory: Path, topic_id: bytes, *, sync: bool = True) -> Path:
    """Writes the topic id of a partition's directory. Returns the file's path. Raises OSError."""
    path = directory / PARTITION_METADATA
    files.write_file(path, f"version: 0\ntopic_id: {uuid_text(topic_id)}".encode(), sync=sync)
    return path


def read_clean_shutdown(files: Files, directory: Path) -> int | None:
    """The broker epoch in the marker of a clean stop (-1 if it has none). None without the marker."""
    try:
        text = files.read_file(directory / CLEAN_SHUTDOWN_FILE)
    except FileNotFoundError:
        return None
    try:
        epoch = json.loads(text)["brokerEpoch"]
    except (ValueError, KeyError, TypeError):
        return UNKNOWN_BROKER_EPOCH  # Kafka before 3.7 wrote an empty file
    return epoch if isinstance(epoch, int) else UNKNOWN_BROKER_EPOCH


def write_clean_shutdown(files: Files, directory: Path, broker_epoch: int) -> None:
    """Writes the marker, durably. Raises OSError."""
    content = json.dumps({"version": 0, "brokerEpoch": broker_epoch}, separators=(",", ":"))
    files.write_file(directory / CLEAN_SHUTDOWN_FILE, content.encode())
