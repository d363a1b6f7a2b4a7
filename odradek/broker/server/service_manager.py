"""Tells the program that has started this process when it serves: systemd's protocol of ``Type=notify``.

Shell. Owns: the two messages. Never does: waiting; a service manager that does not listen changes nothing. Without
``NOTIFY_SOCKET`` in the environment nothing is sent. Source: sd_notify(3).
"""

import logging
import os
from collections.abc import Mapping

from odradek.protocol.common.lazy_imports import lazy_imports

with lazy_imports:
    import socket

SERVES = "READY=1"
STOPS = "STOPPING=1"

logger = logging.getLogger(__name__)


def tell(state: str, environ: Mapping[str, str] = os.environ) -> bool:
    """Sends a state to the socket that the environment names. Returns whether it was sent."""
    name = environ.get("NOTIFY_SOCKET", "")
    if not name:
        return False
    address = f"\0{name[1:]}" if name.startswith("@") else name
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as sender:
            sender.setblocking(False)
            sender.sendto(state.encode(), address)
    except OSError as error:
        logger.warning("cannot tell the service manager %s at NOTIFY_SOCKET=%s: %s", state, name, error)
        return False
    return True
