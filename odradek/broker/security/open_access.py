"""Logs warnings at every start: about security settings in the metadata that are not enforced, and open listeners.

Owns: the warnings. Never does: refusing to start (``config/security.py`` does). Source: ours; Kafka enforces the
security in its metadata.
"""

import logging
from collections.abc import Iterable, Iterator

from ..config.security import carried_configs
from ..config.stored import READ_AT_START
from ..metadata.image.image import MetadataImage

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
    """Logs a WARNING for each kind of open access.

    ``bound``: names and bound addresses of the listeners without authentication. ``enforces_acls``: whether an
    authorizer is configured. ``knows_tokens``: whether ``delegation.token.secret.key`` is set. ``authenticates``:
    whether any listener authenticates clients.
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
    """Yields a sentence for each kind of security in the metadata that this broker does not enforce."""
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
    layers = image.broker_config_layers(node_id)
    keys = carried_configs(layers)
    if keys:
        yield f"the metadata holds broker configs for security that is not supported: {', '.join(keys)}. {KEPT}"
    passed_over = sorted({key for layer in layers for key in layer if key in READ_AT_START})
    if passed_over:
        yield (
            f"the metadata holds the broker configs {', '.join(passed_over)}, which are not applied: "
            "this broker reads them only from its own configuration, at start"
        )


def open_listeners(bound: Iterable[tuple[str, str]], enforces_acls: bool = False) -> Iterator[str]:
    """Yields one sentence about the open listeners that other machines can reach, if there are any."""
    names = sorted({name for name, address in bound if not _is_loopback(address)})
    if names:
        allowed = "do what the ACLs allow User:ANONYMOUS" if enforces_acls else "read and change everything"
        yield (
            f"any machine that reaches the listener {', '.join(names)} may {allowed}: it requires "
            "no authentication. Bind it to 127.0.0.1, or let only trusted clients through a firewall"
        )


def _is_loopback(address: str) -> bool:
    """Whether an address is a loopback address. Avoids importing ``ipaddress``, which takes 3 ms at start."""
    return address.startswith("127.") or address in ("::1", "::ffff:127.0.0.1")
