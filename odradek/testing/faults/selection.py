"""Splits a request into the items that a fault selects and the others, and joins the two answers. Pure.

An item is an element of a list in the request: a topic, a partition, a group. Owns: which items a fault selects. Never
does: I/O, deciding what happens to them. The lists of each API and the fields of their errors come from
:mod:`odradek.broker.dispatch.error_responses`.
"""

import copy
from collections.abc import Callable, Iterable
from dataclasses import dataclass, fields
from typing import Any

from odradek.broker.dispatch.error_responses import ITSELF, RESULTS, ItemErrors
from odradek.protocol.apis.api_keys import ApiKey, api
from odradek.protocol.errors import ErrorCode

TOPIC, PARTITION, GROUP, TRANSACTIONAL_ID = "topic", "partition", "group", "transactional_id"
KINDS = {
    "name": TOPIC,
    "topic": TOPIC,
    "topic_name": TOPIC,
    "topic_id": TOPIC,
    "partition_index": PARTITION,
    "partition_id": PARTITION,
    "partition": PARTITION,
    "index": PARTITION,
    "group_id": GROUP,
    "transactional_id": TRANSACTIONAL_ID,
}
"""Attribute of an item -> the kind of thing that it names."""
RESOURCES = {2: TOPIC, 32: GROUP}
"""Type of a config resource (``ConfigResource.Type``) -> the kind of thing that it names."""
COORDINATORS = {0: GROUP, 1: TRANSACTIONAL_ID}
"""Key type of FindCoordinator (``CoordinatorType``) -> the kind of thing that its keys name."""

HELPERS_CLIENT_ID = "odradek-testing"
"""The client id of the helpers in :mod:`..inspection`; their requests meet no faults."""

NameOfTopic = Callable[[bytes], str | None]
"""Returns the name of the topic with an id; None for an unknown id."""


@dataclass(frozen=True, slots=True)
class Selection:
    """The topic, partition, group, transactional id and client id that a fault is restricted to. None: any."""

    topic: str | None = None
    partition: int | None = None
    group: str | None = None
    transactional_id: str | None = None
    client_id: str | None = None

    def wanted(self) -> dict[str, object]:
        """The kinds of items that the fault is restricted to, with their values (without the client id)."""
        named = {
            TOPIC: self.topic,
            PARTITION: self.partition,
            GROUP: self.group,
            TRANSACTIONAL_ID: self.transactional_id,
        }
        return {kind: value for kind, value in named.items() if value is not None}

    def of_wrong_type(self) -> str | None:
        """Why the selection would select nothing: a value of a type that no request has. None if all are right."""
        for field in fields(self):
            value = getattr(self, field.name)
            kind = int if field.name == PARTITION else str
            if value is not None and not isinstance(value, kind):
                return f"{field.name} must be {kind.__name__}, not {value!r}"
        return None

    def shown(self) -> str:
        """The selection in words for descriptions, such as `` (topic orders, partition 1)``; empty for all requests."""
        chosen = [f"{field.name} {value}" for field in fields(self) if (value := getattr(self, field.name)) is not None]
        return f" ({', '.join(chosen)})" if chosen else ""

    def missing_in(self, api_key: int) -> list[str]:
        """The kinds of the selection that requests of this API do not have: such a fault could never happen."""
        return sorted(self.wanted().keys() - kinds_of(api_key))


def kinds_of(api_key: int) -> set[str]:
    """The kinds of items that requests of an API can name."""
    attributes = {"group_id", "transactional_id"} & set(api(api_key).request_class().__slots__)
    kinds = {KINDS[attribute] for attribute in attributes}
    if api_key == ApiKey.FIND_COORDINATOR:
        return {GROUP, TRANSACTIONAL_ID}
    for items in RESULTS.get(api_key, ()):
        level: ItemErrors | None = items
        while level is not None:
            kinds |= {KINDS[name] for name in level.names if name in KINDS}
            if "resource_name" in level.names:
                kinds |= set(RESOURCES.values())
            level = level.inner
    return kinds


class Divider:
    """Splits requests of one API by one selection."""

    def __init__(self, selection: Selection, api_key: int, name_of: NameOfTopic) -> None:
        """``name_of`` finds the topic's name for requests that have only its id."""
        self._api_key = api_key
        self._name_of = name_of
        self._wanted = selection.wanted()

    def divide(self, request: Any) -> tuple[Any, Any]:
        """Splits a request in two: one with only the selected items, one with only the others. None if it has no item.

        A request that names the group or the transactional id as a whole is not split: it is all in one of the two.
        """
        if not self._is_meant_by_fields(request):
            return None, request
        if self._api_key == ApiKey.FIND_COORDINATOR and not request.coordinator_keys:
            return (request, None) if self._is_coordinator(request.key, request) else (None, request)
        left = self._wanted.keys() - {KINDS[name] for name in _fields_of(request)}
        lists = [items for items in RESULTS.get(self._api_key, ()) if _named(items) & left]
        if self._api_key == ApiKey.FIND_COORDINATOR and left:
            lists = list(RESULTS[self._api_key])
        if not lists:
            return request, None
        meant: Any = None
        others = request
        for items in lists:
            mine, rest = self._divide_list(others, items.asked, items, request)
            if mine is not None:
                meant, others = mine, rest
            if others is None:
                break
        return meant, others

    def is_known_by_the_answer(self, request: Any) -> bool:
        """Whether the items are known only from the answer: a fetch session may leave out its partitions, and a null
        list means all topics (or groups).
        """
        if not self._wanted:
            return False
        if self._api_key == ApiKey.FETCH:
            return True
        lists = [items for items in RESULTS.get(self._api_key, ()) if _named(items) & self._wanted.keys()]
        return any(getattr(request, items.asked.partition(".")[0]) is None for items in lists)

    def override(self, response: Any, error: ErrorCode) -> bool:
        """Sets an error in the selected items of an answer. Returns whether there were any."""
        found = False
        for items in RESULTS.get(self._api_key, ()):
            for answered in getattr(response, items.answered, None) or ():
                found |= self._override_item(answered, items, error)
        return found

    def _is_meant_by_fields(self, request: Any) -> bool:
        fields = _fields_of(request)
        return all(self._wanted.get(KINDS[name], value) == value for name, value in fields.items())

    def _is_coordinator(self, key: str, request: Any) -> bool:
        kind = COORDINATORS.get(request.key_type)
        return all(wanted == kind and value == key for wanted, value in self._wanted.items())

    def _divide_list(self, holder: Any, path: str, items: ItemErrors, request: Any) -> tuple[Any, Any]:
        head, _, tail = path.partition(".")
        mine, others = [], []
        for item in getattr(holder, head) or ():
            meant, rest = (
                self._divide_list(item, tail, items, request) if tail else self._divide_item(item, items, request)
            )
            if meant is not None:
                mine.append(meant)
            if rest is not None:
                others.append(rest)
        return _holding(holder, head, mine), _holding(holder, head, others)

    def _divide_item(self, item: Any, items: ItemErrors, request: Any) -> tuple[Any, Any]:
        if not self._is_item_meant(item, items, request):
            return None, item
        if items.inner is None or not _named(items.inner) & self._wanted.keys():
            return item, None
        return self._divide_list(item, items.inner.asked, items.inner, request)

    def _is_item_meant(self, item: Any, items: ItemErrors, request: Any) -> bool:
        if self._api_key == ApiKey.FIND_COORDINATOR:
            return self._is_coordinator(item, request)
        if "resource_name" in items.names:
            kind = RESOURCES.get(item.resource_type)
            return all(wanted == kind and value == item.resource_name for wanted, value in self._wanted.items())
        return self._matches({name: item if of == ITSELF else getattr(item, of) for name, of in items.names.items()})

    def _override_item(self, answered: Any, items: ItemErrors, error: ErrorCode) -> bool:
        if not self._matches({name: getattr(answered, name) for name in items.names if name in KINDS}):
            return False
        if items.inner is not None and _named(items.inner) & {PARTITION}:
            found = [
                self._override_item(answer, items.inner, error) for answer in getattr(answered, items.inner.answered)
            ]
            return any(found)
        setattr(answered, items.error, error)
        for name, value in items.values.items():
            setattr(answered, name, value)
        if self._api_key == ApiKey.METADATA:
            answered.partitions = []
        return True

    def _matches(self, names: dict[str, Any]) -> bool:
        """Whether an item with these names is selected. A topic matches by its name or its id."""
        for kind, wanted in self._wanted.items():
            values = [self._named_by(value) for name, value in names.items() if KINDS.get(name) == kind]
            if values and wanted not in values:
                return False
        return True

    def _named_by(self, value: Any) -> Any:
        return self._name_of(value) if isinstance(value, bytes) else value


def _fields_of(request: Any) -> dict[str, Any]:
    """The group id and the transactional id in the top-level fields of a request."""
    names = ("group_id", "transactional_id")
    return {name: getattr(request, name) for name in names if name in type(request).__slots__}


def _named(items: ItemErrors) -> set[str]:
    """The kinds that the items of a list and of the lists inside it name."""
    kinds = {KINDS[name] for name in items.names if name in KINDS}
    if "resource_name" in items.names:
        kinds |= set(RESOURCES.values())
    return kinds if items.inner is None else kinds | _named(items.inner)


def _holding(holder: Any, name: str, items: list[Any]) -> Any:
    """A copy of a structure in which the list ``name`` has other items; None if there are no items."""
    if not items:
        return None
    made = copy.copy(holder)
    setattr(made, name, items)
    return made


def join(api_key: int, served: Any, failed: Any) -> Any:
    """Joins the two responses of a split request: adds the failed items to the response of the served ones."""
    for items in RESULTS.get(api_key, ()):
        _join_list(served, failed, items)
    return served


def _join_list(served: Any, failed: Any, items: ItemErrors) -> None:
    into = list(getattr(served, items.answered) or ())
    for item in getattr(failed, items.answered) or ():
        same = _same_item(into, item, items.names)
        if same is None or items.inner is None:
            into.append(item)
        else:
            _join_list(same, item, items.inner)
    setattr(served, items.answered, into)


def _same_item(answered: Iterable[Any], item: Any, names: Iterable[str]) -> Any:
    named = list(names)
    return next(
        (answer for answer in answered if all(getattr(answer, name) == getattr(item, name) for name in named)), None
    )
