"""Values that a broker makes up, and that differ from one broker to the next: ids, sessions, epochs. Pure.

Owns: which fields hold them, and which replayed value stands for which recorded one. Never does: comparing anything
else. Invariant: a recorded value stands for one replayed value, and a replayed value for one recorded one.
"""

from typing import Any, NamedTuple

Scope = tuple[object, ...]


class MintedField(NamedTuple):
    """A field with such a value. ``scope`` names what it counts for: a group or a producer; empty for an id.
    ``lowest``: lower numbers mean that there is none.
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
"""Field of a request or an answer -> what it holds."""
SCOPES = {"groupId": "groupId", "producerId": "producerId", "v3AndBelowProducerId": "producerId"}
"""Field -> the scope that its value names."""
ZERO_ID = "AAAAAAAAAAAAAAAAAAAAAA"


class Minted:
    """Which replayed values stand for which recorded ones."""

    def __init__(self) -> None:
        self._replayed: dict[tuple[Scope, object], object] = {}
        self._recorded: dict[tuple[Scope, object], object] = {}

    def agree(self, name: str, scope: dict[str, object], recorded: object, replayed: object) -> bool:
        """Whether two values of a field may stand for each other; learns that they do.

        A value that counts (an epoch, a generation) has to be the same; it is learned all the same, so that the
        requests that follow name the right one.
        """
        field = FIELDS[name]
        if not (is_minted(field, recorded) and is_minted(field, replayed)):
            return recorded == replayed
        place = _scope(field, scope)
        known = self._replayed.setdefault((place, recorded), replayed)
        back = self._recorded.setdefault((place, replayed), recorded)
        return known == replayed and back == recorded and (not field.scope or recorded == replayed)

    def mapped(self, shown: Any) -> Any:
        """A recorded request with the values that the other broker knows."""
        return self._map(shown, {})

    def _map(self, shown: Any, scope: dict[str, object]) -> Any:
        if isinstance(shown, list):
            return [self._map(one, scope) for one in shown]
        if not isinstance(shown, dict):
            return shown
        inner = entered(scope, shown)
        return {name: self._map_field(name, value, inner) for name, value in shown.items()}

    def _map_field(self, name: str, value: Any, scope: dict[str, object]) -> Any:
        field = FIELDS.get(name)
        if field is None or isinstance(value, dict):
            return self._map(value, scope)
        if isinstance(value, list):
            return [self._map_field(name, one, scope) for one in value]
        return self._replayed.get((_scope(field, scope), value), value) if is_minted(field, value) else value


def entered(scope: dict[str, object], shown: dict[str, Any]) -> dict[str, object]:
    """The group and the producer that the fields of an object count for; those of the objects around it if it names
    none.
    """
    return scope | {name: shown[field] for field, name in SCOPES.items() if field in shown}


def is_minted(field: MintedField, value: object) -> bool:
    """Whether a value was made up by a broker: an empty id, null and low numbers mean that there is none."""
    if isinstance(value, str):
        return value not in ("", ZERO_ID)
    return isinstance(value, int) and value >= field.lowest


def _scope(field: MintedField, scope: dict[str, object]) -> Scope:
    return (field.kind, scope.get(field.scope)) if field.scope else (field.kind,)
