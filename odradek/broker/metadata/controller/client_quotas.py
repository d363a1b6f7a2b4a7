"""Changes client quotas. Pure: image and request go in, records and a response come out.

Source: ClientQuotaControlManager, ``QuorumController.alterClientQuotas``, AlterClientQuotasRequest; KIP-546, KIP-612.
"""

from collections.abc import Collection, Iterator, Mapping

from odradek.protocol.common.steps import Steps
from odradek.protocol.errors import ErrorCode
from odradek.protocol.java.hash import grown_buckets, hash_bucket, java_hash_code
from odradek.protocol.messages.metadata_records import ClientQuotaRecord
from odradek.protocol.messages.quotas import AlterClientQuotasRequest, AlterClientQuotasResponse
from odradek.protocol.messages.structure import Message

from ...quotas.client_quotas import CONNECTION_KEY, FETCH_KEY, MUTATION_KEY, PRODUCE_KEY, REQUEST_KEY
from ...quotas.entities import CLIENT_ID, IP, USER
from ..image.image import ClientQuotaEntity, MetadataImage
from ..publisher.decision import NO_ERROR, ApiError, Decision

Alteration = AlterClientQuotasRequest.EntryData
INT_MAX, LONG_MAX = 2.0**31 - 1, 2.0**63
CLIENT_KEYS: Mapping[str, float | None] = {
    PRODUCE_KEY: LONG_MAX,
    FETCH_KEY: LONG_MAX,
    REQUEST_KEY: None,
    MUTATION_KEY: None,
}
"""Quota key -> its maximum, for keys that take whole numbers only; None for keys that take any number above 0."""
IP_KEYS: Mapping[str, float | None] = {CONNECTION_KEY: INT_MAX}
FRACTION = 1e-6


def alter_client_quotas(
    image: MetadataImage, request: AlterClientQuotasRequest, known_hosts: Collection[str]
) -> Steps[Decision[AlterClientQuotasResponse]]:
    """Sets and removes quotas; each entity succeeds or fails by itself. With ``validate_only``, the answer is the same,
    without records. ``known_hosts``: the addresses and resolvable names among the entities.
    """
    decision: Decision[AlterClientQuotasResponse] = Decision(AlterClientQuotasResponse())
    results: dict[ClientQuotaEntity, tuple[dict[str, str | None], ApiError]] = {}
    for alteration in request.entries:
        yield
        names = named(alteration)
        entity: ClientQuotaEntity = tuple(sorted(names.items()))
        keys = [operation.key for operation in alteration.ops]
        if entity in results or len(set(keys)) < len(keys):
            sentence = f"Ignoring duplicate entity ClientQuotaEntity(entries={_java_map(names)})"
            results[entity] = names, ApiError(ErrorCode.INVALID_REQUEST, sentence)
            continue
        error, records = _alter(image.client_quotas.get(entity, {}), alteration, names, known_hosts)
        results[entity] = names, error
        decision.records += records
    for names, error in results.values():
        yield
        parts = [AlterClientQuotasResponse.EntityData(kind, name) for kind, name in names.items()]
        decision.response.entries.append(AlterClientQuotasResponse.EntryData(error.code, error.message, parts))
    if request.validate_only:
        decision.records.clear()
    return decision


def named(alteration: Alteration) -> dict[str, str | None]:
    """Entity type -> name, in the order in which Kafka checks them: that of Java's HashMap. If a type is named twice,
    the last name counts.
    """
    names = {part.entity_type: part.entity_name for part in alteration.entity}
    return {kind: names[kind] for kind in _hash_order(names, len(alteration.entity))}


def _hash_order(names: Collection[str], capacity: int) -> list[str]:
    """The order of a HashMap that was made for ``capacity`` keys."""
    buckets = grown_buckets(1 << max(capacity - 1, 0).bit_length(), len(names))
    return sorted(names, key=lambda name: hash_bucket(java_hash_code(name), buckets))


def _java_map(names: Mapping[str, str | None]) -> str:
    return "{" + ", ".join(f"{kind}={'null' if name is None else name}" for kind, name in names.items()) + "}"


def _alter(
    current: Mapping[str, float],
    alteration: Alteration,
    names: dict[str, str | None],
    known_hosts: Collection[str],
) -> tuple[ApiError, list[Message]]:
    """The result for one entity, and its records."""
    sentence = next(_problems(names, known_hosts), None)
    if sentence is not None:
        return ApiError(ErrorCode.INVALID_REQUEST, sentence), []
    limits = IP_KEYS if IP in names else CLIENT_KEYS
    records: list[Message] = []
    by_key = {operation.key: operation for operation in alteration.ops}
    for operation in map(by_key.__getitem__, _hash_order(by_key, len(by_key))):
        if operation.remove:
            if operation.key in current:
                records.append(ClientQuotaRecord(_parts(names), operation.key, remove=True))
            continue
        sentence = _bad_value(limits, operation.key, operation.value)
        if sentence is not None:
            return ApiError(ErrorCode.INVALID_REQUEST, sentence), []
        if current.get(operation.key) != operation.value:
            records.append(ClientQuotaRecord(_parts(names), operation.key, operation.value))
    return NO_ERROR, records


def _parts(names: Mapping[str, str | None]) -> list[ClientQuotaRecord.EntityData]:
    return [ClientQuotaRecord.EntityData(kind, name) for kind, name in names.items()]


def _problems(names: Mapping[str, str | None], known_hosts: Collection[str]) -> Iterator[str]:
    """What is wrong with an entity, in Kafka's order."""
    if not names:
        yield "Invalid empty client quota entity"
    for kind, name in names.items():
        if kind not in (USER, CLIENT_ID, IP):
            yield f"Unhandled client quota entity type: {kind}"
        elif name == "":
            yield f"Empty {kind} not supported"
    if IP in names:
        if len(names) > 1:
            yield "Invalid quota entity combination, IP entity shouldnot be combined with User or ClientId"
        elif names[IP] is not None and names[IP] not in known_hosts:
            yield f"{names[IP]} is not a valid IP or resolvable host."


def _bad_value(limits: Mapping[str, float | None], key: str, value: float) -> str | None:
    """What is wrong with a quota, or None."""
    if key not in limits:
        return f"Invalid configuration key {key}"
    if value <= 0:
        return f"Quota {key} must be greater than 0"
    most = limits[key]
    if most is None:
        return None
    if value > most:
        return f"Proposed value for {key} is too large for {'an INT' if most == INT_MAX else 'a LONG'}."
    return f"{key} cannot be a fractional value." if value % 1 > FRACTION else None
