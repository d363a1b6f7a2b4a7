"""Decodes keys and values in the wire format of Confluent's Schema Registry to texts of JSON.

    byte 0, the schema's id (int32); for protobuf the indexes of the message; the data

Uses the registry's client and deserializers of confluent-kafka (the extra `registry`), which ask for each schema once
in a process. Never writes. A record that can't be decoded is a fault of its own, not the end of a read. Source:
Confluent's wire format; KafkaAvroDeserializer, KafkaJsonSchemaDeserializer, KafkaProtobufDeserializer.
"""

from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import pyarrow as pa

from odradek.protocol.common.lazy_imports import lazy_imports

with lazy_imports:  # needs the extra `registry`
    from . import registry_client

FORMATS = ("avro", "json", "protobuf")
KEY, VALUE = "key", "value"
_MISSING = "to decode with a schema registry, install odradek with the extra 'registry' (README.md, Install)"
ToText = Callable[[bytes, str], str]


class Decoding(NamedTuple):
    """How to decode keys and values: the registry's URL, and a format of FORMATS or None for bytes as they are."""

    registry: str
    key_format: str | None
    value_format: str | None

    def format_of(self, column: str) -> str | None:
        """The format of the column `key` or `value`; None for others."""
        return {KEY: self.key_format, VALUE: self.value_format}.get(column)


def decoded(rows: Any, decoding: Decoding, topic: str) -> tuple[Any, list[tuple[int, str]]]:
    """A record batch with texts of JSON for keys and values, and (row, error) of those that can't be decoded.

    The latter are null in it. `topic`: for the deserializers, which may name subjects by it. Raises RegistryError.
    """
    faults: list[tuple[int, str]] = []
    for column in (KEY, VALUE):
        kind = decoding.format_of(column)
        if kind is None or column not in rows.schema.names:
            continue
        to_text = _decoder(decoding.registry, kind, column == KEY)
        texts: list[str | None] = []
        for row, data in enumerate(rows.column(column).to_pylist()):
            try:
                texts.append(None if data is None else to_text(data, topic))
            except registry_client.UndecodableError as error:
                texts.append(None)
                faults.append((row, f"{column}-undecodable: {error}"))
        place = rows.schema.get_field_index(column)
        rows = rows.set_column(place, pa.field(column, pa.string()), pa.array(texts, pa.string()))
    return rows, sorted(faults)


@cache
def _decoder(registry: str, kind: str, is_key: bool) -> ToText:
    """The function that decodes one record. Cached for the process, with the schemas that it has asked for.

    Raises ImportError without the extra.
    """
    try:
        return registry_client.decoder(registry, kind, is_key=is_key)
    except ImportError as error:
        raise ImportError(f"{error}; {_MISSING}") from error
