"""Decodes one record with the client of a schema registry and the deserializers of confluent-kafka.

Imported only for a read that decodes (registry_texts.py): needs the extra `registry`. The client asks for each schema
once. Source: Confluent's wire format; KafkaAvroDeserializer, KafkaJsonSchemaDeserializer,
KafkaProtobufDeserializer.
"""

import base64
import io
import json
from collections.abc import Callable
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from struct import error as struct_error
from typing import Any

from confluent_kafka.schema_registry import SchemaRegistryClient
from confluent_kafka.schema_registry.avro import AvroDeserializer
from confluent_kafka.schema_registry.error import SchemaRegistryError
from confluent_kafka.schema_registry.json_schema import JSONDeserializer
from confluent_kafka.schema_registry.serde import SchemaId
from confluent_kafka.serialization import MessageField, SerializationContext, SerializationError
from google.protobuf import descriptor_pb2, descriptor_pool, json_format
from google.protobuf.message import DecodeError
from google.protobuf.message_factory import GetMessageClass

_NOT_FOUND = 404
_TRANSPORT_ERROR: type[Exception] = import_module("httpx2" if find_spec("httpx2") else "httpx").HTTPError
"""What the client raises if the registry can't be reached: confluent-kafka uses httpx2, and httpx before 2.16."""
_UNDECODABLE = (SerializationError, DecodeError, ValueError, EOFError, IndexError, TypeError, KeyError, struct_error)


class UndecodableError(Exception):
    """Bytes that the registry's schema does not describe, or without the wire format. The text says why."""


class RegistryError(Exception):
    """The registry does not answer, or refuses to, or its client is not installed."""


def decoder(registry: str, kind: str, *, is_key: bool) -> Callable[[bytes, str], str]:
    """The function that decodes a record of a topic to JSON. It raises UndecodableError, RegistryError.

    `kind`: avro, json or protobuf.
    """
    read = _READERS[kind](SchemaRegistryClient({"url": registry}))
    field = MessageField.KEY if is_key else MessageField.VALUE

    def to_text(data: bytes, topic: str) -> str:
        if not data or data[0] not in (0, 1):
            raise UndecodableError("it does not begin with the byte 0 and the id of a schema")
        try:
            return read(data, SerializationContext(topic, field))
        except SchemaRegistryError as error:
            if error.http_status_code == _NOT_FOUND:
                raise UndecodableError(str(error)) from error
            raise RegistryError(f"{_without_login(registry)}: {error}") from error
        except _UNDECODABLE as error:
            raise UndecodableError(f"{type(error).__name__}: {error}") from error
        except _TRANSPORT_ERROR as error:
            raise RegistryError(f"{_without_login(registry)}: {error}") from error

    return to_text


def _without_login(url: str) -> str:
    scheme, mark, rest = url.partition("://")
    return scheme + mark + rest.rpartition("@")[2]


def _avro(client: Any) -> Callable[[bytes, Any], str]:
    deserializer = AvroDeserializer(client)
    return lambda data, context: json.dumps(deserializer(data, context), default=_plain, ensure_ascii=False)


def _json(client: Any) -> Callable[[bytes, Any], str]:
    deserializer = JSONDeserializer(None, schema_registry_client=client)
    return lambda data, context: json.dumps(deserializer(data, context), ensure_ascii=False)


def _protobuf(client: Any) -> Callable[[bytes, Any], str]:
    @cache
    def class_of(schema_id: int, indexes: tuple[int, ...]) -> Any:
        return GetMessageClass(_descriptor(client, schema_id, indexes))

    def read(data: bytes, _context: Any) -> str:
        schema = SchemaId("PROTOBUF")
        payload = schema.from_bytes(io.BytesIO(data)).read()
        if schema.id is None:
            raise ValueError("its schema has no id")
        found = class_of(schema.id, tuple(schema.message_indexes or [0])).FromString(payload)
        return json.dumps(json_format.MessageToDict(found, preserving_proto_field_name=True), ensure_ascii=False)

    return read


def _descriptor(client: Any, schema_id: int, indexes: tuple[int, ...]) -> Any:
    """The descriptor of a message: of the schema's file, and below it by index."""
    pool = descriptor_pool.DescriptorPool()

    def add(schema: Any, name: str | None = None) -> Any:
        file = descriptor_pb2.FileDescriptorProto.FromString(base64.b64decode(schema.schema_str))
        file.name = name or file.name or "schema.proto"
        references = {one.name: one for one in schema.references or []}
        for needed in file.dependency:
            if needed in references:
                one = references[needed]
                version = client.get_version(one.subject, one.version, fmt="serialized")
                add(version.schema, needed)
            else:  # those of protobuf itself
                pool.AddSerializedFile(descriptor_pool.Default().FindFileByName(needed).serialized_pb)
        pool.Add(file)
        return pool.FindFileByName(file.name)

    file = add(client.get_schema(schema_id, fmt="serialized"))
    found = list(file.message_types_by_name.values())[indexes[0]]
    for index in indexes[1:]:
        found = found.nested_types[index]
    return found


def _plain(value: Any) -> Any:
    """What JSON does not have: bytes as Avro's JSON encoding writes them, times in ISO 8601, other types as texts."""
    if isinstance(value, bytes):
        return value.decode("latin-1")
    return value.isoformat() if hasattr(value, "isoformat") else str(value)


_READERS: dict[str, Callable[[Any], Callable[[bytes, Any], str]]] = {
    "avro": _avro,
    "json": _json,
    "protobuf": _protobuf,
}
