"""The TLS of the console's listener, which reads its certificate again after a file has changed.

Owns: the TLS of new connections. Never does: serving. It is the TLS of the broker's metrics, with the same keys
``ssl.*``.
"""

import asyncio
from collections.abc import Mapping

from odradek.broker.config.errors import ConfigError
from odradek.broker.security.reread import Reread
from odradek.broker.security.tls.listeners import FILE_KEYS
from odradek.broker.security.tls.stream import TlsStreams
from odradek.protocol.security.tls_context import ServerTls, TlsSettings, TlsSettingsError, server_tls

CHECK_S = 10.0
"""The seconds between two checks of the files."""


class ListenerTls:
    """The certificate and the trust store of one listener."""

    def __init__(self, texts: Mapping[str, str]) -> None:
        """Reads the stores. ``texts``: by Kafka's keys. Raises ConfigError."""
        self._settings = TlsSettings(texts)
        files = [path for key in FILE_KEYS if (path := self._settings.get(key)) is not None]
        self._tls = Reread("certificate and trust store of the console", self._read, lambda: (None, files))
        self.streams = TlsStreams(self._tls.value, "console")
        """The TLS of the listener's connections."""

    async def keep_current(self, check_s: float = CHECK_S) -> None:
        """Reads changed files again, until it is cancelled."""
        while True:
            await asyncio.sleep(check_s)
            await self.look_at_files()

    async def look_at_files(self) -> None:
        """Reads the files again, on a thread, if they have changed."""
        self.streams.current = await asyncio.to_thread(self._tls.current)

    def _read(self) -> ServerTls:
        try:
            return server_tls(self._settings)
        except TlsSettingsError as error:
            raise ConfigError([str(error)]) from None
