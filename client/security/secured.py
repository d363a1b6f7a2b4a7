"""What a client with security gives to its connections: the TLS context and the logins."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from .settings import Security, TokenProvider, security_of

if TYPE_CHECKING:
    import ssl

    from .login import Logins


class Secured:
    """Made once for each client. Raises ConfigurationError."""

    def __init__(self, security: Security) -> None:
        """Reads the key stores."""
        self.tls: ssl.SSLContext | None = None
        self.logins: Logins | None = None
        if security.has_tls:
            from .tls import context_of

            self.tls = context_of(security)
        if security.has_sasl:
            from . import login

            self.logins = login.Logins(security)


def secured_of(properties: Mapping[str, str], token_provider: TokenProvider | None = None) -> Secured | None:
    """What connections need for Java's properties; None for PLAINTEXT. Raises ConfigurationError, which names the key.

    ``token_provider`` gives the tokens of OAUTHBEARER, in place of an endpoint.
    """
    security = security_of(properties, token_provider)
    return None if security is None else Secured(security)
