"""DescribeClientQuotas (48): the quotas that are set for users, client ids and IP addresses.

Versions: 0 to 1. 1: flexible.
Errors: INVALID_REQUEST (a malformed filter), UNSUPPORTED_VERSION (an unknown entity type).
Source: KIP-546; ``ClientQuotasImage.describe``.
"""

from collections.abc import Callable, Iterable

from odradek.protocol.apis.api_keys import ApiKey
from odradek.protocol.errors import ErrorCode, KafkaError
from odradek.protocol.messages.quotas import DescribeClientQuotasRequest, DescribeClientQuotasResponse

from ..dispatch.request import RequestContext
from ..metadata.image.image import ClientQuotaEntity
from ..quotas.entities import CLIENT_ID, IP, USER
from .parts import MetadataParts

API_KEY = ApiKey.DESCRIBE_CLIENT_QUOTAS
EXACT, DEFAULT, SPECIFIED = 0, 1, 2


def handle(
    broker: MetadataParts,
    request: DescribeClientQuotasRequest,
    context: RequestContext,
    reply: Callable[[DescribeClientQuotasResponse], None],
) -> None:
    """Answers from the metadata image."""
    try:
        exact, any_name = _filter(request.components)
    except KafkaError as error:
        reply(DescribeClientQuotasResponse(error_code=error.error_code, error_message=error.message, entries=None))
        return
    response = DescribeClientQuotasResponse(entries=[])
    assert response.entries is not None
    for entity, quotas in broker.metadata.image.client_quotas.items():
        if _matches(entity, exact, any_name, request.strict):
            response.entries.append(
                DescribeClientQuotasResponse.EntryData(
                    [DescribeClientQuotasResponse.EntityData(kind, name) for kind, name in entity],
                    [DescribeClientQuotasResponse.ValueData(key, value) for key, value in quotas.items()],
                )
            )
    reply(response)


def _filter(
    components: Iterable[DescribeClientQuotasRequest.ComponentData],
) -> tuple[dict[str, str | None], set[str]]:
    """(entity type -> required name, the types for which any name matches). Raises KafkaError."""
    exact: dict[str, str | None] = {}
    any_name: set[str] = set()
    for component in components:
        kind = component.entity_type
        if not kind:
            raise _bad("Invalid empty entity type.")
        if kind in exact or kind in any_name:
            raise _bad(f"Entity type {kind} cannot appear more than once in the filter.")
        if kind not in (IP, USER, CLIENT_ID):
            raise KafkaError(ErrorCode.UNSUPPORTED_VERSION, f"Unsupported entity type {kind}")
        if component.match_type == EXACT:
            if component.match is None:
                raise _bad("Request specified MATCH_TYPE_EXACT, but set match string to null.")
            exact[kind] = component.match
        elif component.match_type in (DEFAULT, SPECIFIED):
            if component.match is not None:
                name = "MATCH_TYPE_DEFAULT" if component.match_type == DEFAULT else "MATCH_TYPE_SPECIFIED"
                raise _bad(f"Request specified {name}, but also specified a match string.")
            if component.match_type == DEFAULT:
                exact[kind] = None
            else:
                any_name.add(kind)
        else:
            raise _bad(f"Unknown match type {component.match_type}")
    kinds = {*exact, *any_name}
    if IP in kinds and len(kinds) > 1:
        raise _bad(
            "Invalid entity filter component combination. IP filter component should not be used with user or clientId "
            "filter component."
        )
    return exact, any_name


def _bad(sentence: str) -> KafkaError:
    return KafkaError(ErrorCode.INVALID_REQUEST, sentence)


def _matches(entity: ClientQuotaEntity, exact: dict[str, str | None], any_name: set[str], strict: bool) -> bool:
    names = dict(entity)
    if strict and len(names) != len(exact) + len(any_name):
        return False
    return all(kind in names and names[kind] == name for kind, name in exact.items()) and any_name <= names.keys()
