"""All client quotas of a broker, kept as the metadata has them.

Pure. Owns: the four kinds. Never does: muting, reading a clock. Source: QuotaFactory.QuotaManagers,
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
        """``windows``: of all kinds but that of the controller."""
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
        """Whether there is any quota."""
        return any(quota.is_enabled for quota in self._by_key.values())

    def update(self, quotas: Mapping[Entity, Mapping[str, float]], changed: Iterable[Entity]) -> None:
        """Takes over the entities that changed. ``quotas``: all of the metadata. Unknown keys are ignored."""
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
    """Whether an entity names users or client ids, and not addresses."""
    return all(kind != IP for kind, _ in entity)
