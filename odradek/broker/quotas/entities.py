"""Finds the quota of a request by user and client id, and the requests with which it shares the quota.

Pure. Owns: the quotas of one kind, by their entities. Never does: measuring. Invariant: for each user, client id and
set of quotas, the result equals that of Kafka's ClientQuotaManager. Source: ClientQuotaManager.DefaultQuotaCallback,
ClientQuotaMetadataManager; KIP-13, KIP-55, KIP-257.
"""

from collections.abc import Iterable
from enum import Enum

USER, CLIENT_ID, IP = "user", "client-id", "ip"
QuotaEntity = Iterable[tuple[str, str | None]]
"""Pairs of entity type and name (None: the default entity)."""


class Default(Enum):
    """The type of :data:`DEFAULT`, which stands for the name of a default entity."""

    DEFAULT = 0


DEFAULT = Default.DEFAULT
Name = str | Default | None
"""The name of a user or a client id in an entity; None if the entity has none."""
Tags = tuple[str, str]
"""User and client id under which requests are counted; "" for any user or any client id."""

UNLIMITED = float(2**63 - 1)
"""The limit without a quota. It is Kafka's number, because token buckets without a quota fill at this rate."""

BY_CLIENT_ID, BY_USER, BY_BOTH = 1, 2, 4
"""The levels of entities that may have quotas, as bits: as in Kafka's ``quotaTypesEnabled``."""


class EntityQuotas:
    """The quotas of one kind, by user and client id."""

    def __init__(self) -> None:
        self._limits: dict[tuple[Name, Name], float] = {}
        self._counts = {BY_CLIENT_ID: 0, BY_USER: 0, BY_BOTH: 0}
        self.levels = 0
        """The levels at which quotas are set: the sum of their ``BY_`` bits; 0 without any quota."""
        self.generation = 0
        """The number of changes so far. Sensors compare it to notice that their limit may have changed."""

    def set(self, entity: QuotaEntity, limit: float | None) -> None:
        """Sets the quota of an entity of user, client id or both; None removes it."""
        names: dict[str, Name] = {kind: DEFAULT if name is None else name for kind, name in entity}
        key = names.get(USER), names.get(CLIENT_ID)
        level = BY_BOTH if None not in key else BY_CLIENT_ID if key[0] is None else BY_USER
        self._counts[level] -= self._limits.pop(key, None) is not None
        if limit is not None:
            self._limits[key] = limit
            self._counts[level] += 1
        self.levels = sum(level for level, count in self._counts.items() if count)
        self.generation += 1

    def tags(self, user: str, client_id: str) -> Tags:
        """The tags under which a request is counted. All requests with the same tags share one quota."""
        if self.levels in (0, BY_CLIENT_ID):
            return "", client_id
        if self.levels == BY_USER:
            return user, ""
        if self.levels == BY_BOTH:
            return user, client_id
        limits = self._limits
        if (user, client_id) in limits or (user, DEFAULT) in limits:
            return user, client_id
        if (user, None) in limits:
            return user, ""
        if (DEFAULT, client_id) in limits or (DEFAULT, DEFAULT) in limits:
            return user, client_id
        return (user, "") if (DEFAULT, None) in limits else ("", client_id)

    def limit(self, tags: Tags) -> float:
        """The limit for these tags; :data:`UNLIMITED` if no quota is set."""
        user, client_id = tags
        candidates: tuple[tuple[Name, Name], ...] = ()
        if user and client_id:
            candidates = (user, client_id), (user, DEFAULT), (DEFAULT, client_id), (DEFAULT, DEFAULT)
        elif user:
            candidates = (user, None), (DEFAULT, None)
        elif client_id:
            candidates = (None, client_id), (None, DEFAULT)
        return next((self._limits[key] for key in candidates if key in self._limits), UNLIMITED)
