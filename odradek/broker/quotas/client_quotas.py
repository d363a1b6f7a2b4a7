"""All client quotas of a broker, updated from the metadata.

Pure. Owns: the four kinds of quotas. Never does: muting, reading a clock. Source: QuotaFactory.QuotaManagers,
ClientQuotaMetadataManager.
"""

from collections.abc import Iterable, Mapping

from .client_quota import ClientQuota, MutationQuota, QuotaWindows
from .entities import IP, QuotaEntity

PRODUCE_KEY = "producer_byte_rate"
FETCH_KEY = "consumer_byte_rate"
REQUEST_KEY = "request_percentage"
MUTATION_KEY = "controller_mutation_rate"
CONNECTION_KEY = "connection_creation_rate"

Entity = tuple[tuple[str, str | None], ...]


class ClientQuotas:
    """The quotas of users and client ids."""

    def __init__(self, windows: QuotaWindows, controller_windows: QuotaWindows) -> None:
        """``controller_windows``: of ``controller_mutation_rate``. ``windows``: of the other kinds."""
        self.produce = ClientQuota(windows)
        """In bytes a second."""
        self.fetch = ClientQuota(windows)
        """In bytes a second."""
        self.request = ClientQuota(windows, windows.window_ms)
        """In per cent of one second of one processor, for each second."""
        self.mutation = MutationQuota(controller_windows)
        """In partitions a second."""
        self._by_key: dict[str, ClientQuota] = {
            PRODUCE_KEY: self.produce,
            FETCH_KEY: self.fetch,
            REQUEST_KEY: self.request,
            MUTATION_KEY: self.mutation,
        }
        self._known: dict[Entity, frozenset[str]] = {}

    @property
    def is_enabled(self) -> bool:
        """Whether any quota of users or client ids is set."""
        return any(quota.is_enabled for quota in self._by_key.values())

    def update(self, quotas: Mapping[Entity, Mapping[str, float]], changed: Iterable[Entity]) -> None:
        """Takes over changed entities. ``quotas``: all quotas in the metadata. Ignores unknown keys."""
        for entity in changed:
            if not is_of_clients(entity):
                continue
            limits = quotas.get(entity, {})
            for key in {*self._known.get(entity, ()), *limits} & self._by_key.keys():
                self._by_key[key].entities.set(entity, limits.get(key))
            if limits:
                self._known[entity] = frozenset(limits)
            else:
                self._known.pop(entity, None)


def is_of_clients(entity: QuotaEntity) -> bool:
    """Whether an entity consists of users and client ids, without an IP address."""
    return all(kind != IP for kind, _ in entity)
