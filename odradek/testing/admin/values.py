"""Arguments from JSON and query strings, and records, topics and groups as JSON. Pure.

Keys and values of records are text if they are UTF-8. Other bytes are base64, under ``key_base64``, ``value_base64``.
"""

import base64
import math
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from ..text_or_base64 import bytes_as

if TYPE_CHECKING:
    from odradek.client.admin.group_descriptions import GroupDescription
    from odradek.client.cluster.metadata import TopicMetadata
    from odradek.client.types import ConsumerRecord, RecordMetadata, TopicPartition

Json = Any
"""A value that :mod:`json` reads or writes."""


class AdminPortError(Exception):
    """A request that is not served: the HTTP status, and a message for the author of the test."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.message = message


class Arguments:
    """The arguments of one request: those of its path, its query string and its JSON body, by name."""

    def __init__(self, values: Mapping[str, Json]) -> None:
        self._values = dict(values)
        self._asked: set[str] = set()

    def get(self, name: str, kind: type | tuple[type, ...], default: Json = None) -> Json:
        """An argument, or ``default`` if it is missing. Numbers and booleans may also come as text (query string).

        Raises AdminPortError (400) for an argument of another type.
        """
        self._asked.add(name)
        value = self._values.get(name)
        if value is None:
            return default
        kinds = kind if isinstance(kind, tuple) else (kind,)
        if isinstance(value, str) and str not in kinds:
            value = _from_text(value, kinds)
        if isinstance(value, bool) and bool not in kinds:
            value = None
        if isinstance(value, int) and abs(value) >= 1 << 63:
            raise AdminPortError(400, f"{name} must have at most 64 bits")
        if isinstance(value, int) and float in kinds and not isinstance(value, bool):
            value = float(value)
        if isinstance(value, float) and not math.isfinite(value):
            raise AdminPortError(400, f"{name} must be a finite number, not {value}")
        if value is None or not isinstance(value, kinds):
            raise AdminPortError(400, f"{name} must be {' or '.join(_names(kinds))}, not {self._values[name]!r:.100}")
        return value

    def need(self, name: str, kind: type | tuple[type, ...]) -> Json:
        """A required argument. Raises AdminPortError (400) if it is missing or of another type."""
        value = self.get(name, kind)
        if value is None:
            raise AdminPortError(400, f"{name} is missing")
        return value

    def names(self, name: str) -> list[str]:
        """An argument that is a list of strings, or one string with commas; empty if it is missing."""
        value = self.get(name, (str, list), [])
        found = value.split(",") if isinstance(value, str) else value
        if not all(isinstance(item, str) for item in found):
            raise AdminPortError(400, f"{name} must be a list of strings")
        return [item for item in found if item]

    def rest(self) -> dict[str, Json]:
        """All arguments that are not null; none of them is unknown for :meth:`refuse_others` afterwards."""
        self._asked |= self._values.keys()
        return {name: value for name, value in self._values.items() if value is not None}

    def refuse_others(self) -> None:
        """Raises AdminPortError (400) for an argument that no earlier call has read, such as a misspelt name."""
        unknown = sorted(self._values.keys() - self._asked)
        if unknown:
            raise AdminPortError(400, f"{unknown[0]} is unknown; the arguments are: {', '.join(sorted(self._asked))}")


def _from_text(text: str, kinds: Iterable[type]) -> Json:
    for kind in kinds:
        try:
            if kind is bool:
                return {"true": True, "false": False}[text.lower()]
            if kind in (int, float):
                return kind(text)
        except (KeyError, ValueError):
            continue
    return None


def _names(kinds: Iterable[type]) -> list[str]:
    names = {str: "a string", int: "an integer", float: "a number", bool: "true or false", list: "a list"}
    return [names.get(kind, "an object") for kind in kinds]


def content(arguments: Mapping[str, Json], name: str) -> bytes | None:
    """A key or a value of a record: a text, ``{"base64": "..."}``, or null. Raises AdminPortError (400)."""
    value = arguments.get(name)
    if value is None:
        return None
    if isinstance(value, str):
        return value.encode()
    if isinstance(value, dict) and isinstance(value.get("base64"), str):
        try:
            return base64.b64decode(value["base64"], validate=True)
        except ValueError:
            pass
    raise AdminPortError(400, f'{name} must be a string, null, or {{"base64": "..."}}, not {value!r:.100}')


def record_as(record: "ConsumerRecord") -> dict[str, Json]:
    """A record as JSON; ``timestamp_ms`` is in ms since the epoch."""
    return {
        "partition": record.partition,
        "offset": record.offset,
        "timestamp_ms": record.timestamp,
        **bytes_as("key", record.key),
        **bytes_as("value", record.value),
        "headers": [{"name": name, **bytes_as("value", value)} for name, value in record.headers],
    }


def place_as(metadata: "RecordMetadata") -> dict[str, Json]:
    """The place where a record was stored, as JSON."""
    return {"partition": metadata.partition, "offset": metadata.offset, "timestamp_ms": metadata.timestamp}


def topic_as(topic: "TopicMetadata") -> dict[str, Json]:
    """A topic as JSON; its id in the form that Kafka's tools print."""
    return {
        "name": topic.name,
        "id": base64.urlsafe_b64encode(topic.topic_id).decode().rstrip("="),
        "partitions": [
            {"partition": number, "leader": partition.leader, "replicas": list(partition.replicas)}
            for number, partition in sorted(topic.partitions.items())
        ],
    }


def group_as(group: "GroupDescription") -> dict[str, Json]:
    """A group as JSON, with its members and the partitions assigned to each."""
    return {
        "group": group.group_id,
        "state": group.state,
        "type": group.group_type,
        "members": [
            {
                "member_id": member.member_id,
                "client_id": member.client_id,
                "assignment": [
                    {"topic": partition.topic, "partition": partition.partition} for partition in member.assignment
                ],
            }
            for member in group.members
        ],
    }


def by_partition(numbers: "Mapping[TopicPartition, int]", what: str) -> list[dict[str, Json]]:
    """One JSON object for each partition, with its number under the name ``what``."""
    return [
        {"topic": partition.topic, "partition": partition.partition, what: number}
        for partition, number in sorted(numbers.items())
    ]
