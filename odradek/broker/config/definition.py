"""The tables of Kafka's configuration keys: their definitions, extracted from Apache Kafka 4.4.0's own ConfigDefs.

Owns: the loading of ``data/*.json`` (made by ``make config-keys``) and the shape of an entry. An entry becomes an
object on first use, because a start needs few of the 379 (making all objects takes as long as parsing the JSON).
Source: ``AbstractKafkaConfig``, ``LogConfig``, ``GroupConfig``, ``ClientMetricsConfigs``.
"""

import json
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any

from odradek.protocol.common.holder import holder

from .own_keys import OWN_KEYS

DATA = Path(__file__).parent / "data"


@holder()
class KeyDefinition:
    """One configuration key.

    ``type`` is ConfigDef.Type's name (BOOLEAN, STRING, INT, SHORT, LONG, DOUBLE, LIST, CLASS, PASSWORD); ``default`` is
    text as in a file, None for null; ``has_default`` is False for the few keys that Kafka calls required. ``validator``
    is the structured rule that ``validators.violation`` checks. ``update_mode`` is ``read-only``, ``per-broker`` or
    ``cluster-wide``; ``synonyms`` are the keys that set the same value, in order of precedence.
    """

    name: str
    type: str
    default: str | None
    has_default: bool
    validator: Mapping[str, Any] | None
    importance: str
    internal: bool
    update_mode: str
    synonyms: tuple[str, ...]
    server_key: str | None
    """Topic and group keys: the server's key for the default, or None."""


class KeyTable(Mapping[str, KeyDefinition]):
    """A read-only mapping from key to its definition: Kafka's in alphabetical order, then ours."""

    def __init__(self, facts: Mapping[str, Mapping[str, Any]], sections: Mapping[str, Any]) -> None:
        self._facts = facts
        self._definitions: dict[str, KeyDefinition] = {}
        self.sections = sections
        """The other sections of the file, such as the sets of dynamic keys."""

    def __getitem__(self, name: str) -> KeyDefinition:
        definition = self._definitions.get(name)
        if definition is None:
            definition = self._definitions[name] = _definition(name, self._facts[name])
        return definition

    def __iter__(self) -> Iterator[str]:
        return iter(self._facts)

    def __len__(self) -> int:
        return len(self._facts)

    def __contains__(self, name: object) -> bool:
        return name in self._facts


def _definition(name: str, facts: Mapping[str, Any]) -> KeyDefinition:
    return KeyDefinition(
        name=name,
        type=facts["type"],
        default=facts.get("default"),
        has_default="default" in facts,
        validator=facts.get("validator"),
        importance=facts["importance"],
        internal=facts.get("internal", False),
        update_mode=facts.get("update_mode", "read-only"),
        synonyms=tuple(facts.get("synonyms", (name,))),
        server_key=facts.get("server_key"),
    )


def _load(file: str, own: Mapping[str, Mapping[str, Any]] = MappingProxyType({})) -> KeyTable:
    sections = json.loads((DATA / file).read_bytes())
    return KeyTable(sections.pop("keys") | own, sections)


@cache
def server_keys() -> KeyTable:
    """The keys of server.properties: Kafka's 379, then those of our own (``own_keys.py``)."""
    return _load("server-keys.json", OWN_KEYS)


@cache
def dynamic_only_keys() -> KeyTable:
    """Broker keys that exist only as dynamic configs: the rates of throttled replication."""
    return KeyTable(server_keys().sections["dynamic_only"], {})


@cache
def topic_keys() -> KeyTable:
    """The keys of a topic."""
    return _load("topic-keys.json")


@cache
def group_keys() -> KeyTable:
    """The keys of a group."""
    return _load("group-keys.json")


@cache
def client_metrics_keys() -> KeyTable:
    """The keys of a client metrics subscription."""
    return _load("client-metrics-keys.json")
