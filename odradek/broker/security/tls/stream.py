"""Any asyncio protocol over this package's TLS: for listeners that do not speak the Kafka protocol.

Owns: the plaintext side of one connection. Never does: TLS itself (:mod:`.transport`), parsing. Invariant: the
protocol hears of the connection at its accept, so its own deadline covers the handshake.
"""

import asyncio
import logging
from typing import cast

from odradek.protocol.security.tls_context import ServerTls

from .engine import TlsEngine
from .transport import Plaintext, TlsLoop, TlsTransport

logger = logging.getLogger(__name__)

PLAINTEXT_BYTES = 32 * 1024


class TlsStreams:
    """The TLS of one listener (:class:`.transport.TlsListener`), with a certificate that can be replaced."""

    def __init__(self, tls: ServerTls, name: str) -> None:
        """``name``: of the listener, for log lines."""
        self.current = tls
        self.name = name
        self.buffer = memoryview(bytearray(PLAINTEXT_BYTES))
        """For plaintext; all connections share it, since it is given to the protocol at once."""
        self._shared = TlsLoop()

    def over_tls(self, protocol: asyncio.Protocol) -> TlsTransport:
        """The protocol of an accepted socket whose plaintext goes to ``protocol``."""
        return TlsTransport(_TlsStream(protocol, self), self, self._shared)

    def finished(self, connection: Plaintext, engine: TlsEngine, tls: ServerTls) -> None:
        """A handshake is finished: refuses a cipher suite that the configuration excludes."""
        if engine.suite() in tls.refused_suites:
            connection.refuse(f"TLS 1.3 chose the cipher suite {engine.suite()}, which ssl.cipher.suites does not have")


class _TlsStream:
    """One connection."""

    is_authenticated = True
    """Its ciphertext does not count as held by a client of the Kafka protocol."""

    def __init__(self, protocol: asyncio.Protocol, of: TlsStreams) -> None:
        self._protocol = protocol
        self._of = of
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        self._protocol.connection_made(transport)

    def connection_lost(self, exc: Exception | None) -> None:
        self._protocol.connection_lost(exc)

    def get_buffer(self, sizehint: int) -> memoryview:
        return self._of.buffer

    def buffer_updated(self, nbytes: int) -> None:
        self._protocol.data_received(bytes(self._of.buffer[:nbytes]))

    def pause_writing(self) -> None:
        self._protocol.pause_writing()

    def resume_writing(self) -> None:
        self._protocol.resume_writing()

    def holds_ciphertext(self, nbytes: int) -> None:
        """Nothing counts it: the protocol's limit of connections bounds it."""

    def refuse(self, reason: object) -> None:
        """Closes the connection because of what its client sent. Logs one line."""
        assert self._transport is not None
        if not self._transport.is_closing():
            host, port = self._transport.get_extra_info("peername", ("?", 0))[:2]
            logger.warning("closing the connection of %s:%d to the %s: %s", host, port, self._of.name, reason)
            self._transport.close()

    def close(self) -> None:
        if self._transport is not None:
            self._transport.close()
