"""The TLS of the metrics endpoint, which reads its certificate again after a file has changed.

Owns: the TLS of new connections. Never does: serving. A broker without ``odradek.metrics.ssl.enable`` does not
import this module.
"""

import asyncio

from odradek.protocol.security.tls_context import ServerTls, TlsSettings, TlsSettingsError, server_tls

from ...config.errors import ConfigError
from ...config.server_config import ServerConfig
from ...timers.work import KindOfWork
from ..reread import Reread
from .listeners import FILE_KEYS
from .stream import TlsStreams

METRICS_TLS = KindOfWork("metrics-key-store", "reads a changed key store of the metrics")


class MetricsTls:
    """The certificate and the trust store in the ``ssl.*`` configs without a listener prefix."""

    def __init__(self, config: ServerConfig) -> None:
        """Reads the stores. Raises ConfigError."""
        self._settings = TlsSettings(config.originals)
        files = [path for key in FILE_KEYS if (path := self._settings.get(key)) is not None]
        self._tls = Reread("certificate and trust store of the metrics", self._read, lambda: (None, files))
        self._looking: asyncio.Task[None] | None = None
        self.streams = TlsStreams(self._tls.value, "metrics")
        """The TLS of the endpoint's connections."""

    def look_at_files(self) -> asyncio.Task[None]:
        """Starts to check the files and to read changed ones again, on a thread. Call it at an interval."""
        if self._looking is None or self._looking.done():
            self._looking = METRICS_TLS.task(self._look())
        return self._looking

    async def _look(self) -> None:
        self.streams.current = await METRICS_TLS.awaited_on_thread(self._tls.current)

    def _read(self) -> ServerTls:
        try:
            return server_tls(self._settings)
        except TlsSettingsError as error:
            raise ConfigError([f"odradek.metrics.ssl.enable: {error}"]) from None
