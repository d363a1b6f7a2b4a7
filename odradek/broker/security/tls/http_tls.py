"""The TLS of the metrics and of the console, which reads its certificate again after a file has changed.

Owns: the TLS of new connections. Never does: serving. A broker that serves neither over TLS does not import this.
"""

import asyncio
from collections.abc import Mapping

from odradek.protocol.security.tls_context import ServerTls, TlsSettings, TlsSettingsError, server_tls

from ...config.errors import ConfigError
from ...timers.work import KindOfWork
from ..reread import Reread
from .listeners import FILE_KEYS
from .stream import TlsStreams

HTTP_TLS = KindOfWork("http-key-store", "reads a changed key store of the metrics or of the console")


class HttpTls:
    """The certificate and the trust store in the ``ssl.*`` configs without a listener prefix."""

    def __init__(self, texts: Mapping[str, str], name: str, error_prefix: str = "") -> None:
        """Reads the stores. ``texts``: by Kafka's keys. ``name``: metrics or console. Raises ConfigError."""
        self._settings = TlsSettings(texts)
        self._error_prefix = error_prefix
        files = [path for key in FILE_KEYS if (path := self._settings.get(key)) is not None]
        self._tls = Reread(f"certificate and trust store of the {name}", self._read, lambda: (None, files))
        self._looking: asyncio.Task[None] | None = None
        self.streams = TlsStreams(self._tls.value, name)
        """The TLS of the connections."""

    def look_at_files(self) -> asyncio.Task[None]:
        """Starts to check the files and to read changed ones again, on a thread. Call it at an interval."""
        if self._looking is None or self._looking.done():
            self._looking = HTTP_TLS.task(self._look())
        return self._looking

    async def _look(self) -> None:
        self.streams.current = await HTTP_TLS.awaited_on_thread(self._tls.current)

    def _read(self) -> ServerTls:
        try:
            return server_tls(self._settings)
        except TlsSettingsError as error:
            raise ConfigError([f"{self._error_prefix}{error}"]) from None
