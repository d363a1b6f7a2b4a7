"""Enforces the quotas of the metadata: charges requests, and limits the rates of new connections.

Owns: the quotas in force, and the addresses of the host names among their entities. Never does: deciding whether a
quota is exceeded (:mod:`..quotas` does). Source: ClientQuotaMetadataManager, DynamicClientQuotaPublisher.

Imported with the first quota in the metadata.
"""

import logging
from collections.abc import Collection, Mapping

from ..config.server_config import ServerConfig
from ..dispatch.charge import Charging
from ..dispatch.dispatch import Dispatcher
from ..metadata.image.image import ClientQuotaEntity
from ..network.connection_quotas import ConnectionQuotas
from ..network.host_names import canonical, resolve
from ..quotas.client_quota import QuotaWindows
from ..quotas.client_quotas import ClientQuotas
from ..quotas.connection_rates import ConnectionRates
from ..quotas.entities import IP
from ..timers.loop_timers import LoopTimers
from ..timers.work import KindOfWork

logger = logging.getLogger(__name__)

LOOK_UP = KindOfWork("quota-host-names", "looks up the host names of ip quotas")

Quotas = Mapping[ClientQuotaEntity, Mapping[str, float]]


class QuotaEnforcement:
    """The quotas in force."""

    def __init__(
        self, config: ServerConfig, dispatcher: Dispatcher, connections: ConnectionQuotas, timers: LoopTimers
    ) -> None:
        """Nothing is limited before :meth:`update`."""
        windows = _windows(config, "quota.window")
        self.clients = ClientQuotas(windows, _windows(config, "controller.quota.window"))
        self.addresses = ConnectionRates(windows)
        self._charging = Charging(self.clients, timers.now_ms)
        self._dispatcher = dispatcher
        self._connections = connections
        self._now_ms = timers.now_ms
        self._resolved: dict[str, str] = {}

    def update(self, quotas: Quotas, changed: Collection[ClientQuotaEntity]) -> None:
        """Applies the quotas of the ``changed`` entities. ``quotas``: all quotas of the metadata."""
        self.clients.update(quotas, changed)
        self._dispatcher.charge_with(self._charging if self.clients.is_enabled else None)
        hosts = {name for entity in changed for kind, name in entity if kind == IP and name is not None}
        unknown = [host for host in hosts if host not in self._resolved]
        self._resolved.update((host, address) for host in unknown if (address := canonical(host)) is not None)
        host_names = [host for host in unknown if host not in self._resolved]
        self._limit_addresses(quotas, changed)
        if host_names:
            # Kafka looks up the name once, too, when the quota is set and at each start.
            looked_up = LOOK_UP.awaited_on_thread(resolve, host_names)
            LOOK_UP.when_done(looked_up, lambda done: self._looked_up(quotas, host_names, done.result()))

    def _looked_up(self, quotas: Quotas, host_names: list[str], addresses: Mapping[str, str]) -> None:
        for host in host_names:
            if host not in addresses:
                logger.warning("the quota of the host name %r has no effect: the name can't be resolved", host)
        self._resolved.update(addresses)
        self._limit_addresses(quotas, [((IP, host),) for host in addresses])

    def _limit_addresses(self, quotas: Quotas, changed: Collection[ClientQuotaEntity]) -> None:
        self.addresses.update(quotas, changed, self._resolved)
        self._connections.delay_with(self._delay_ms if self.addresses.is_enabled else None)

    def _delay_ms(self, host: str) -> int:
        return self.addresses.delay_ms(host, self._now_ms())


def _windows(config: ServerConfig, prefix: str) -> QuotaWindows:
    return QuotaWindows(config.get_int(f"{prefix}.num"), config.get_int(f"{prefix}.size.seconds") * 1_000)
