"""Compares a recorded answer with a replayed one. Pure.

Owns: what counts as a difference. Elements of two lists are matched by their name, index or id, or by their place if
they have none. Values that a broker generates, such as ids, match if they stand for the same thing (:mod:`.minted`).
"""

from collections.abc import Collection, Iterator
from typing import Any, NamedTuple

from odradek.protocol.show.message_documents import Document

from .exchange import error_name, is_error
from .minted import FIELDS, Minted, entered

MEASURED = frozenset(
    {
        "clusterId",
        "finalizedFeaturesEpoch",
        "host",
        "isrEpoch",
        "lastTimestamp",
        "logAppendTimeMs",
        "logDir",
        "port",
        "replicaDirectoryId",
        "size",
        "throttleTimeMs",
        "totalBytes",
        "transactionStartTimeMs",
        "usableBytes",
    }
)
"""Fields that depend on where and when a broker runs. They are not compared."""
KEYS = (
    "name",
    "topic",
    "topicName",
    "resourceName",
    "groupId",
    "transactionalId",
    "partitionIndex",
    "partition",
    "partitionId",
    "index",
    "nodeId",
    "apiKey",
    "key",
    "offset",
)
"""Fields that identify the elements of a list: the first one that all elements of both lists have is used."""


class Difference(NamedTuple):
    """A field of an answer that differs in the replay. ``number``: the number of the request in the recording."""

    number: int
    request: str
    path: str
    recorded: str
    replayed: str

    def __str__(self) -> str:
        """The path of the field and both values, in one line."""
        return f"{self.path}: recorded {self.recorded}, replayed {self.replayed}"


class Comparison:
    """Compares recorded answers of one API with replayed ones."""

    def __init__(self, minted: Minted, ignore: Collection[str], api: str) -> None:
        """``ignore``: names of fields that are not compared, in any API or in one (``Fetch.highWatermark``)."""
        self._minted = minted
        self._ignored = {name.removeprefix(f"{api}.") for name in ignore} | MEASURED

    def differences(self, request: Document, recorded: Document, replayed: Document) -> list[tuple[str, str, str]]:
        """(path, recorded value, replayed value) of each difference. ``request``: the recorded request."""
        return list(self._compare("", "", recorded, replayed, entered({}, request), frozenset()))

    def _compare(
        self, path: str, name: str, recorded: Any, replayed: Any, scope: dict[str, object], also: frozenset[str]
    ) -> Iterator[tuple[str, str, str]]:
        if name in self._ignored or name in also:
            return
        if isinstance(recorded, dict) and isinstance(replayed, dict):
            yield from self._objects(path, recorded, replayed, scope, also)
        elif isinstance(recorded, list) and isinstance(replayed, list):
            yield from self._lists(path, name, recorded, replayed, scope, also)
        elif name in FIELDS:
            if not self._minted.agree(name, scope, recorded, replayed):
                yield path, _shown(name, recorded), _shown(name, replayed)
        elif recorded != replayed:
            yield path, _shown(name, recorded), _shown(name, replayed)

    def _objects(
        self,
        path: str,
        recorded: dict[str, Any],
        replayed: dict[str, Any],
        scope: dict[str, object],
        also: frozenset[str],
    ) -> Iterator[tuple[str, str, str]]:
        inner = entered(scope, recorded)
        if "logAppendTimeMs" in recorded and "logAppendTimeMs" in replayed:
            also = also | {"timestamp"}  # with LogAppendTime the broker sets the timestamps
        for name in dict.fromkeys([*recorded, *replayed]):
            where = f"{path}.{name}" if path else name
            if name in recorded and name in replayed:
                yield from self._compare(where, name, recorded[name], replayed[name], inner, also)
            elif name not in self._ignored | also:
                yield where, _shown_if_there(name, recorded), _shown_if_there(name, replayed)

    def _lists(
        self,
        path: str,
        name: str,
        recorded: list[Any],
        replayed: list[Any],
        scope: dict[str, object],
        also: frozenset[str],
    ) -> Iterator[tuple[str, str, str]]:
        key = _key_of(recorded, replayed)
        if key is None:
            if len(recorded) != len(replayed):
                yield path, _count(recorded), _count(replayed)
            for place, pair in enumerate(zip(recorded, replayed, strict=False)):
                yield from self._compare(f"{path}[{place}]", name, *pair, scope, also)
            return
        others = {element[key]: element for element in replayed}
        for element in recorded:
            where = f"{path}[{key}={element[key]}]"
            if element[key] in others:
                yield from self._compare(where, name, element, others.pop(element[key]), scope, also)
            else:
                yield where, _shown(name, element), "nothing"
        for value, element in others.items():
            yield f"{path}[{key}={value}]", "nothing", _shown(name, element)


def _key_of(recorded: list[Any], replayed: list[Any]) -> str | None:
    """The field of KEYS that identifies the elements of both lists; None if there is none."""
    both = [*recorded, *replayed]
    if not both or not all(isinstance(element, dict) for element in both):
        return None
    for key in KEYS:
        if all(isinstance(element.get(key), str | int) for element in both):
            if all(len({element[key] for element in side}) == len(side) for side in (recorded, replayed)):
                return key
            return None
    return None


def _count(elements: list[Any]) -> str:
    return "1 element" if len(elements) == 1 else f"{len(elements)} elements"


def _shown_if_there(name: str, shown: dict[str, Any]) -> str:
    return _shown(name, shown[name]) if name in shown else "nothing"


def _shown(name: str, value: Any) -> str:
    """A value as text in one line: error codes by name, long values cut to 200 characters."""
    if is_error(name) and isinstance(value, int):
        return error_name(value)
    text = repr(value)
    return text if len(text) <= 200 else f"{text[:200]}…"
