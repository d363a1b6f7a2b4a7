"""Values that a broker generates, and that differ between brokers: ids, fetch sessions, epochs ("minted"). Pure.

Owns: which fields hold them, and the mapping between the recorded and the replayed values. Never does: comparing
anything else. Invariant: the mapping is one to one.
"""

from typing import Any, NamedTuple

Scope = tuple[object, ...]


class MintedField(NamedTuple):
    """A field with a generated value.

    ``kind``: what the value is. ``scope``: for an epoch, the field whose group or producer it belongs to; empty for an
    id. ``lowest``: lower numbers mean "no value".
    """

    kind: str
    scope: str = ""
    lowest: int = 0


TOPIC, MEMBER, PRODUCER, SESSION, NODE = "topic id", "member id", "producer id", "fetch session", "broker"
GENERATION, EPOCH = "generation", "producer epoch"
FIELDS = {
    "topicId": MintedField(TOPIC),
    "memberId": MintedField(MEMBER),
    "leader": MintedField(MEMBER),
    "producerId": MintedField(PRODUCER),
    "sessionId": MintedField(SESSION, lowest=1),
    "nodeId": MintedField(NODE),
    "leaderId": MintedField(NODE),
    "controllerId": MintedField(NODE),
    "coordinatorId": MintedField(NODE),
    "replicaNodes": MintedField(NODE),
    "isrNodes": MintedField(NODE),
    "offlineReplicas": MintedField(NODE),
    "generationId": MintedField(GENERATION, "groupId", 1),
    "generationIdOrMemberEpoch": MintedField(GENERATION, "groupId", 1),
    "memberEpoch": MintedField(GENERATION, "groupId", 1),
    "producerEpoch": MintedField(EPOCH, "producerId"),
    "v3AndBelowProducerId": MintedField(PRODUCER),
    "v3AndBelowProducerEpoch": MintedField(EPOCH, "producerId"),
    "producerIdFilters": MintedField(PRODUCER),
    "brokerIds": MintedField(NODE),
}
"""Name of a field in a request or an answer -> the generated value that it holds."""
SCOPES = {"groupId": "groupId", "producerId": "producerId", "v3AndBelowProducerId": "producerId"}
"""Name of a field -> the scope that its value sets for the fields of the same object and the objects inside it."""
ZERO_ID = "AAAAAAAAAAAAAAAAAAAAAA"


class Minted:
    """The mapping between recorded and replayed values, learned from the answers."""

    def __init__(self) -> None:
        self._replayed: dict[tuple[Scope, object], object] = {}
        self._recorded: dict[tuple[Scope, object], object] = {}

    def agree(self, name: str, scope: dict[str, object], recorded: object, replayed: object) -> bool:
        """Whether a recorded and a replayed value of a field match. Adds the pair to the mapping if both are new.

        Ids match if the mapping pairs them. Epochs and generations must also be equal; they are mapped even if they
        differ, so that later requests send the replayed one.
        """
        field = FIELDS[name]
        if not (is_minted(field, recorded) and is_minted(field, replayed)):
            return recorded == replayed
        place = _scope(field, scope)
        known = self._replayed.setdefault((place, recorded), replayed)
        back = self._recorded.setdefault((place, replayed), recorded)
        return known == replayed and back == recorded and (not field.scope or recorded == replayed)

    def mapped(self, shown: Any) -> Any:
        """A recorded request with each generated value replaced by the replayed one."""
        return self._map(shown, {})

    def _map(self, shown: Any, scope: dict[str, object]) -> Any:
        if isinstance(shown, list):
            return [self._map(item, scope) for item in shown]
        if not isinstance(shown, dict):
            return shown
        inner = entered(scope, shown)
        return {name: self._map_field(name, value, inner) for name, value in shown.items()}

    def _map_field(self, name: str, value: Any, scope: dict[str, object]) -> Any:
        field = FIELDS.get(name)
        if field is None or isinstance(value, dict):
            return self._map(value, scope)
        if isinstance(value, list):
            return [self._map_field(name, item, scope) for item in value]
        return self._replayed.get((_scope(field, scope), value), value) if is_minted(field, value) else value


def entered(scope: dict[str, object], shown: dict[str, Any]) -> dict[str, object]:
    """The group id and the producer id that apply inside an object: its own, or else those of the enclosing objects."""
    return scope | {name: shown[field] for field, name in SCOPES.items() if field in shown}


def is_minted(field: MintedField, value: object) -> bool:
    """Whether a broker has generated a value; an empty id, null and numbers below ``lowest`` mean "no value"."""
    if isinstance(value, str):
        return value not in ("", ZERO_ID)
    return isinstance(value, int) and value >= field.lowest


def _scope(field: MintedField, scope: dict[str, object]) -> Scope:
    return (field.kind, scope.get(field.scope)) if field.scope else (field.kind,)
