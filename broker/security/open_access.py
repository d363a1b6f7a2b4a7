"""Warns at every start about open access: security in the metadata that is not enforced, and open listeners.

Owns: the warnings. Never does: refusing (``config/security.py`` has the settings that prevent a start). Source: ours;
Kafka enforces the security in its metadata.
"""

import logging
from collections.abc import Iterable, Iterator

from ..config.security import carried_configs
from ..config.stored import READ_AT_START
from ..metadata.image import MetadataImage, ResourceType

logger = logging.getLogger(__name__)

KEPT = "It is kept for a Kafka that enforces it."


def warn_of_open_access(
    image: MetadataImage,
    node_id: int,
    bound: Iterable[tuple[str, str]],
    enforces_acls: bool = False,
    knows_tokens: bool = False,
    authenticates: bool = False,
) -> None:
    """Logs a WARNING for each kind of open access. ``bound``: names of listeners without authentication, with their
    bound addresses. ``authenticates``: whether there are listeners with it.
    """
    carried = carried_security(image, node_id, enforces_acls, knows_tokens, authenticates)
    for sentence in (*carried, *open_listeners(bound, enforces_acls)):
        logger.warning("%s", sentence)


def carried_security(
    image: MetadataImage,
    node_id: int,
    enforces_acls: bool = False,
    knows_tokens: bool = False,
    authenticates: bool = False,
) -> Iterator[str]:
    """A sentence for each kind of security that the metadata holds and this broker does not enforce."""
    if image.acls and not enforces_acls:
        yield (
            f"the metadata holds ACLs ({len(image.acls)}), which are not enforced: "
            f"every client may do everything. {KEPT}"
        )
    users = {name for name, _ in image.scram_credentials}
    if users and not authenticates:
        yield f"the metadata holds SCRAM credentials (users: {len(users)}), but clients are not authenticated. {KEPT}"
    if image.delegation_tokens and not knows_tokens:
        yield (
            f"the metadata holds delegation tokens ({len(image.delegation_tokens)}), but without "
            f"delegation.token.secret.key no client can log in with one. {KEPT}"
        )
    layers = [image.config_of(ResourceType.BROKER, name) for name in ("", str(node_id))]
    keys = carried_configs(layers)
    if keys:
        yield f"the metadata holds broker configs for security that is not served: {', '.join(keys)}. {KEPT}"
    passed_over = sorted({key for layer in layers for key in layer if key in READ_AT_START})
    if passed_over:
        yield (
            f"the metadata holds the broker configs {', '.join(passed_over)}, which are not applied: "
            "this broker takes them from its own configuration at start"
        )


def open_listeners(bound: Iterable[tuple[str, str]], enforces_acls: bool = False) -> Iterator[str]:
    """One sentence about the listeners that other machines can reach, if there are any."""
    names = sorted({name for name, address in bound if not _is_loopback(address)})
    if names:
        allowed = "do what the ACLs allow User:ANONYMOUS" if enforces_acls else "read and change everything"
        yield (
            f"any machine that reaches the listener {', '.join(names)} may {allowed}: it asks "
            "for no authentication. Bind it to 127.0.0.1, or let only trusted clients through a firewall"
        )


def _is_loopback(address: str) -> bool:
    """Without the module ipaddress, which takes 3 ms of a start."""
    return address.startswith("127.") or address in ("::1", "::ffff:127.0.0.1")
