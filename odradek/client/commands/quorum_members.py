"""Reads the ids and listeners of the controller for ``metadata-quorum add-controller`` from its files.

Source: ``MetadataQuorumCommand.handleAddController``.
"""

import base64
import binascii
from pathlib import Path
from typing import NamedTuple

from ..types import ControllerEndpoint
from .command_config import read_properties
from .output import topic_id_text
from .running import CommandError

NODE_ID, ROLES, LISTENER_NAMES = "node.id", "process.roles", "controller.listener.names"
METADATA_DIR, LOG_DIRS = "metadata.log.dir", "log.dirs"
IS_IT = "Is this a valid controller configuration file?"
UUID_BYTES = 16


class NewController(NamedTuple):
    """The controller to add. ``str()`` gives the text of Kafka's tool."""

    node_id: int
    directory_id: bytes
    endpoints: list[ControllerEndpoint]

    def __str__(self) -> str:
        texts = [f"{name}://{f'[{host}]' if ':' in host else host}:{port}" for name, host, port in self.endpoints]
        return (
            f"controller {self.node_id} with directory id {topic_id_text(self.directory_id)} "
            f"and endpoints: {', '.join(texts)}"
        )


def controller_to_add(path: Path) -> NewController:
    """Reads a configuration file, and meta.properties in the directory that it names. Raises CommandError."""
    keys = read_properties(path.read_text(encoding="utf-8"))
    if NODE_ID not in keys:
        raise CommandError(f"{NODE_ID} not found in configuration file. {IS_IT}")
    if not keys[NODE_ID].isdigit():
        raise CommandError(f"{NODE_ID} was negative in configuration file. {IS_IT}")
    if "controller" not in keys.get(ROLES, ""):
        raise CommandError(f"{ROLES} did not contain 'controller' in configuration file. {IS_IT}")
    directory = keys.get(METADATA_DIR) or keys.get(LOG_DIRS, "").strip().split(",")[0]
    if not directory:
        raise CommandError(f"Neither {METADATA_DIR} nor {LOG_DIRS} were found. {IS_IT}")
    return NewController(int(keys[NODE_ID]), _directory_id(Path(directory)), controller_endpoints(keys))


def _directory_id(directory: Path) -> bytes:
    try:
        found = read_properties((directory / "meta.properties").read_text(encoding="utf-8"))
    except OSError:
        raise CommandError(f"Unable to read meta.properties from {directory}") from None
    if "directory.id" not in found:
        raise CommandError(f"No directory id found in {directory}")
    try:
        return directory_id_of(found["directory.id"])
    except ValueError as error:
        raise CommandError(f"{directory}: {error}") from None


def directory_id_of(text: str) -> bytes:
    """Decodes an id in Kafka's base64url to 16 bytes. Raises ValueError with the message of ``Uuid.fromString``."""
    if len(text) > 24:
        raise ValueError(f"Input string with prefix `{text[:24]}` is too long to be decoded as a base64 UUID")
    try:
        data = base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
    except binascii.Error as error:
        raise ValueError(str(error)) from None
    if len(data) != UUID_BYTES:
        raise ValueError(
            f"Input string `{text}` decoded as {len(data)} bytes, which is not equal to the expected 16 bytes "
            "of a base64-encoded UUID"
        )
    return data


def controller_endpoints(keys: dict[str, str]) -> list[ControllerEndpoint]:
    """The address of each controller listener: the advertised one, otherwise the one that it is bound to.

    Raises CommandError.
    """
    addresses: dict[str, tuple[str, int]] = {}
    for key in ("listeners", "advertised.listeners"):
        for text in filter(None, (entry.strip() for entry in keys.get(key, "").split(","))):
            name, _, address = text.partition("://")
            host, _, port = address.rpartition(":")
            if not port.isdigit():
                raise CommandError(f"Unable to parse {text} to a broker endpoint")
            addresses[name.upper()] = (host.strip("[]"), int(port))
    if LISTENER_NAMES not in keys:
        raise CommandError(f"{LISTENER_NAMES} was not found. {IS_IT}")
    found = []
    for name in (entry.strip().upper() for entry in keys[LISTENER_NAMES].split(",")):
        if name not in addresses:
            raise CommandError(f"Cannot find information about controller listener name: {name}")
        bound_to, number = addresses[name]
        found.append(ControllerEndpoint(name, bound_to or "localhost", number))
    return found
