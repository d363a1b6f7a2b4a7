"""The security objects that all connections of a client share: the TLS context and the SASL logins."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from odradek.protocol.common.lazy_imports import lazy_imports

from .settings import Security, TokenProvider, security_of

with lazy_imports:
    from . import login, tls

if TYPE_CHECKING:
    import ssl

    from .login import Logins


class ConnectionSecurity:
    """TLS context and SASL logins, created once for each client; None if it has none. Raises ConfigurationError."""

    def __init__(self, security: Security) -> None:
        """Reads the key stores."""
        self.tls: ssl.SSLContext | None = None
        self.logins: Logins | None = None
        if security.has_tls:
            self.tls = tls.context_of(security)
        if security.has_sasl:
            self.logins = login.Logins(security)


def secured_of(properties: Mapping[str, str], token_provider: TokenProvider | None = None) -> ConnectionSecurity | None:
    """The security objects for Kafka's properties; None for PLAINTEXT. Raises ConfigurationError, which names the key.

    ``token_provider`` returns the tokens for OAUTHBEARER, instead of a token endpoint.
    """
    security = security_of(properties, token_provider)
    return None if security is None else ConnectionSecurity(security)
