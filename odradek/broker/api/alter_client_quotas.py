"""AlterClientQuotas (49): sets and removes quotas of users, client ids and IP addresses.

The changes are in effect before the answer is sent.

Versions: 0 to 1. 1: flexible.
Errors, for each entity: INVALID_REQUEST (an unknown entity type or key; an ``ip`` entity combined with another type, or
with a host name that can't be resolved; a value that is not positive, too large or a fraction of a byte; an entity or a
key that is named twice), POLICY_VIOLATION (more than 100 host names). Source: KIP-546;
``ControllerApis.handleAlterClientQuotas``, ``ClientQuotaControlManager``.
"""

import asyncio
from collections.abc import Callable

from odradek.protocol.apis.api_keys import ApiKey
from odradek.protocol.errors import ErrorCode, KafkaError
from odradek.protocol.messages.quotas import AlterClientQuotasRequest, AlterClientQuotasResponse

from ..dispatch.request import RequestContext
from ..metadata.controller.client_quotas import alter_client_quotas, named
from ..network.host_names import is_address, resolve
from ..quotas.entities import IP
from ..timers.work import KindOfWork
from .parts import ControllerParts

LOOK_UP = KindOfWork("alter-client-quotas", "looks up host names before quotas are changed")

API_KEY = ApiKey.ALTER_CLIENT_QUOTAS
MAX_HOST_NAMES = 100
"""The most host names in one request: looking one up may take a thread for seconds."""


def handle(
    broker: ControllerParts,
    request: AlterClientQuotasRequest,
    context: RequestContext,
    reply: Callable[[AlterClientQuotasResponse], None],
) -> None:
    """Resolves host names on a thread, if there are any. Then decides, writes the metadata records and answers."""
    hosts = {name for alteration in request.entries if (name := named(alteration).get(IP))}
    addresses = set(filter(is_address, hosts))
    host_names = sorted(hosts - addresses)
    if len(host_names) > MAX_HOST_NAMES:
        reply(_refused(request, KafkaError(ErrorCode.POLICY_VIOLATION, f"More than {MAX_HOST_NAMES} host names.")))
        return
    metadata = broker.own_metadata

    def answer(outcome: AlterClientQuotasResponse | KafkaError) -> None:
        reply(_refused(request, outcome) if isinstance(outcome, KafkaError) else outcome)

    def alter(known: set[str]) -> None:
        metadata.change(lambda: alter_client_quotas(metadata.image, request, known), context.now_ms, answer)

    if not host_names:
        alter(addresses)
        return

    def looked_up(done: "asyncio.Future[dict[str, str]]") -> None:
        if done.exception() is None:
            alter(addresses | done.result().keys())
        else:
            reply(_refused(request, KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR)))

    LOOK_UP.when_done(LOOK_UP.on_thread(resolve, host_names), looked_up)


def _refused(request: AlterClientQuotasRequest, error: KafkaError) -> AlterClientQuotasResponse:
    entity = AlterClientQuotasResponse.EntityData
    return AlterClientQuotasResponse(
        entries=[
            AlterClientQuotasResponse.EntryData(
                error.error_code,
                error.message,
                [entity(part.entity_type, part.entity_name) for part in alteration.entity],
            )
            for alteration in request.entries
        ]
    )
