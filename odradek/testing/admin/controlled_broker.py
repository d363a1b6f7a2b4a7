"""The broker behind the admin port.

Owns: its two listeners, one for clients, one for the helpers of this process (:mod:`..inspection`). The helpers need
their own, because the advertised address may be reachable for clients only, such as the published port of a container.
"""

import re
from collections.abc import Mapping

from odradek.broker.server.broker_server import BrokerServer

from ..broker.config_values import ConfigValue
from ..broker.in_process import InProcessBroker

CLIENTS, HELPERS = "PLAINTEXT", "HELPERS"
EVERYWHERE = ("0.0.0.0", "::")
OF_FILES_AND_ADDRESSES = re.compile(
    r"(.*\.)?(location|file|endpoint\.url|class\.path|listener|listener\.names?)|config\.providers.*|controller\.quorum\..*"
    r"|process\.roles|node\.id|broker\.id"
)
"""Keys that name files, addresses or other nodes. Whoever starts the broker may set them. A client of the admin port
may not, because the broker would read or write any file, or listen anywhere."""


def is_its_own(key: str) -> bool:
    """Whether the broker sets a key itself: its listeners and its directories."""
    return key.split(".")[-1] in ("listeners", "map") or key in ("log.dir", "log.dirs", "metadata.log.dir")


def is_out_of_reach(key: str) -> bool:
    """Whether a client of the admin port may not set a key."""
    return is_its_own(key) or OF_FILES_AND_ADDRESSES.fullmatch(key) is not None


class ControlledBroker(InProcessBroker):
    """A broker on a given address, with a temporary directory."""

    def __init__(self, host: str, port: int, advertised_host: str | None, configs: Mapping[str, ConfigValue]) -> None:
        """``advertised_host``: the ``host`` or ``host:port`` that clients connect to. None takes ``host``, or localhost
        if ``host`` is a wildcard address. Raises ValueError if ``configs`` set listeners or ``log.dirs``.
        """
        wrong = sorted(filter(is_its_own, configs))
        if wrong:
            raise ValueError(f"{wrong[0]} can't be set here: use --host, --port and --advertised-host")
        super().__init__(None, configs)
        self._client_host, self._client_port = host, port
        self._advertised = advertised_host or ("localhost" if host in EVERYWHERE else host)

    @property
    def advertised(self) -> str:
        """``host:port`` for clients."""
        _, colon, port = self._advertised.rpartition(":")
        if colon and port.isdecimal():
            return self._advertised
        return f"{self._advertised}:{self.client_port}"

    @property
    def client_port(self) -> int:
        """The port that clients connect to; the same after a restart."""
        return self._client_port

    def _keep_ports(self, server: BrokerServer) -> None:
        super()._keep_ports(server)
        bound = {listener.listener.name: listener.port for listener in server.listeners}
        self._client_port = bound.get(CLIENTS, self._client_port)

    def _own_keys(self) -> dict[str, str]:
        return {
            **super()._own_keys(),
            "listeners": f"{HELPERS}://127.0.0.1:{self._port},{CLIENTS}://{self._client_host}:{self._client_port}",
            "advertised.listeners": f"{HELPERS}://127.0.0.1:{self._port},{CLIENTS}://{self.advertised}",
            "listener.security.protocol.map": f"{HELPERS}:PLAINTEXT,{CLIENTS}:PLAINTEXT",
            "inter.broker.listener.name": HELPERS,
        }
