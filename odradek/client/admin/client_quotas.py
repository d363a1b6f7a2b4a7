"""The admin client's part for client quotas. Source: ``Admin.describeClientQuotas``, ``alterClientQuotas``; KIP-546.

An entity maps entity types to names: ``{"user": "alice", "client-id": None}``. The name None is the default entity of
its type.
"""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from odradek.protocol.messages.quotas import (
    AlterClientQuotasRequest,
    AlterClientQuotasResponse,
    DescribeClientQuotasRequest,
    DescribeClientQuotasResponse,
)

from ..errors import broker_error
from .base import AdminBase, all_or_raise, split

USER, CLIENT_ID, IP = "user", "client-id", "ip"
"""Types of entity."""
EXACT, DEFAULT, ANY = 0, 1, 2
"""The match types of a filter's component: this name, the default entity, any name."""


class QuotaFilter(NamedTuple):
    """One component of a filter. It matches entities of ``entity_type``; ``name`` is used with EXACT only."""

    entity_type: str
    match: int = ANY
    name: str | None = None


class DescribedQuotas(NamedTuple):
    """The quotas of one entity. ``values``: quota key -> bytes, mutations or connections a second, or percent."""

    entity: dict[str, str | None]
    values: dict[str, float]


class ClientQuotaAdmin(AdminBase):
    """Calls about client quotas; part of Admin."""

    async def describe_client_quotas(
        self, components: Iterable[QuotaFilter] = (), *, strict: bool = False
    ) -> list[DescribedQuotas]:
        """The entities that match all components. With ``strict``, an entity that has other types too does not match.

        Raises KafkaError.
        """
        part = DescribeClientQuotasRequest.ComponentData
        request = DescribeClientQuotasRequest(
            [
                part(component.entity_type, component.match, component.name if component.match == EXACT else None)
                for component in components
            ],
            strict,
        )
        connection = await self._cluster.any_connection()
        response = await connection.call(request, DescribeClientQuotasResponse, timeout_ms=self._timeout_ms)
        if response.error_code:
            raise broker_error(response.error_code, "DescribeClientQuotas", response.error_message)
        return [
            DescribedQuotas(
                {entity.entity_type: entity.entity_name for entity in entry.entity},
                {value.key: value.value for value in entry.values},
            )
            for entry in response.entries or ()
        ]

    async def alter_client_quotas(
        self,
        entity: Mapping[str, str | None],
        *,
        set_quotas: Mapping[str, float] | None = None,
        delete_quotas: Iterable[str] = (),
        validate_only: bool = False,
    ) -> None:
        """Changes quotas of one entity; its other quotas stay unchanged. Raises AdminError: INVALID_REQUEST ..."""
        operation = AlterClientQuotasRequest.OpData
        operations = [operation(key, value) for key, value in (set_quotas or {}).items()]
        operations += [operation(key, 0.0, remove=True) for key in delete_quotas]
        parts = [AlterClientQuotasRequest.EntityData(kind, name) for kind, name in entity.items()]
        request = AlterClientQuotasRequest([AlterClientQuotasRequest.EntryData(parts, operations)], validate_only)
        response = await self._controller_call(request, AlterClientQuotasResponse)
        errors, results = split(
            (
                ", ".join(f"{entity.entity_type}={entity.entity_name}" for entity in entry.entity),
                entry.error_code,
                entry.error_message,
                None,
            )
            for entry in response.entries
        )
        all_or_raise(errors, results)
