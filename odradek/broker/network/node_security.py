"""How this broker connects to other nodes: whether with TLS, and with which login.

Pure. Source: ``security.inter.broker.protocol``, ``controller.listener.names``.
"""

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import ssl

    from odradek.protocol.security.login_mechanisms import ClientLogin


class NodeSecurity(NamedTuple):
    """How this broker connects to the nodes of one listener. Each connection asks for both anew.

    ``tls`` returns the context of a connection, None without TLS. ``login`` begins a login, None without SASL; it
    raises TokenError or MechanismError, which are ValueErrors, if it gets no token.
    """

    tls: "Callable[[], ssl.SSLContext] | None" = None
    login: "Callable[[], Awaitable[ClientLogin]] | None" = None


PLAINTEXT = NodeSecurity()
