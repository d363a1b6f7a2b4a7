"""The TLS context of a client, from Kafka's ``ssl.*`` keys. Reads the key stores once, when the client is made.

``ssl`` is imported here only, so clients without TLS do not load it.
"""

import ssl

from odradek.protocol.security.tls_context import TlsSettings, TlsSettingsError, client_context

from ..errors import ConfigurationError
from .settings import Security


def context_of(security: Security) -> ssl.SSLContext:
    """Creates the TLS context. Raises ConfigurationError, which names the key and the file."""
    try:
        return client_context(TlsSettings(security.texts))
    except TlsSettingsError as error:
        raise ConfigurationError(str(error)) from None


def tls_failure(error: ssl.SSLError) -> str:
    """A text for a failed handshake: the reason and the setting to check."""
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"{error.verify_message}; check ssl.truststore.location and the name in the broker's certificate"
    reason = (error.reason or str(error)).replace("_", " ").lower()
    if error.reason == "WRONG_VERSION_NUMBER":
        return f"{reason}: the listener does not speak TLS; is security.protocol right?"
    if error.reason is not None and ("CERTIFICATE" in error.reason or "HANDSHAKE_FAILURE" in error.reason):
        return f"{reason}: the broker refuses the client's certificate, or requires one; check ssl.keystore.location"
    return reason
