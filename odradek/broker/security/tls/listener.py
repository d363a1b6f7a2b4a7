"""The TLS of one listener while the broker runs: its certificate as it is now, and who its clients are.

Owns: the context that new connections take. Never does: the handshake (:mod:`.engine`). Invariant: a context is
complete before it replaces another one. Source: ``SslChannelBuilder``, ``DefaultKafkaPrincipalBuilder``.
"""

from collections.abc import Callable

from odradek.protocol.security import distinguished_name
from odradek.protocol.security.acl import ANONYMOUS
from odradek.protocol.security.tls_context import ServerTls

from ...network.connection import Connection, ServeFrame
from .engine import TlsEngine

MAPPING_KEY = "ssl.principal.mapping.rules"


class RunningTls:
    """A listener's TLS (:class:`.transport.TlsListener`)."""

    def __init__(self, tls: ServerTls, principal_name: Callable[[str], str | None] | None) -> None:
        """``principal_name``: maps the name in a client's certificate (``ssl.principal.mapping.rules``). None: TLS does
        not authenticate the clients of this listener (SASL_SSL).
        """
        self.current = tls
        self._principal_name = principal_name

    def finished(self, connection: Connection, engine: TlsEngine, tls: ServerTls) -> None:
        """Authenticates the client by its certificate, or refuses it."""
        if engine.suite() in tls.refused_suites:
            connection.refuse(f"TLS 1.3 chose the cipher suite {engine.suite()}, which ssl.cipher.suites does not have")
            return
        if self._principal_name is None:
            return
        certificate = engine.peer_certificate()
        if certificate is None:
            connection.authenticated(ANONYMOUS)
            return
        try:
            name = distinguished_name.subject(certificate)
        except ValueError as error:
            connection.refuse(f"the name in its client's certificate can't be read: {error}")
            return
        mapped = self._principal_name(name)
        if mapped is None:
            connection.refuse(f"no rule of {MAPPING_KEY} matches the name in its client's certificate, {name!r}")
            return
        connection.authenticated(f"User:{mapped}")


class HandshakeAuthentication:
    """The authentication of an SSL listener (:class:`...network.connection.Authentication`): it ends before the first
    frame."""

    def __init__(self, max_frame_bytes: int) -> None:
        self.max_frame_bytes = max_frame_bytes

    def start(self) -> ServeFrame:
        """Serves nothing: plaintext exists only after the handshake."""
        return _serve_nothing


def _serve_nothing(connection: Connection, frame: memoryview, owned: bool) -> None:
    raise AssertionError("a frame arrived before the handshake was finished")
