"""Keys and values that a schema registry describes: `export` and `kafkalog` return them as JSON, batch and stream."""

import base64
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow.dataset as dataset
import pytest
from confluent_kafka.schema_registry import SchemaRegistryClient
from confluent_kafka.schema_registry.avro import AvroSerializer
from confluent_kafka.serialization import MessageField, SerializationContext
from google.protobuf import descriptor_pb2, descriptor_pool, json_format, timestamp_pb2
from google.protobuf.message_factory import GetMessageClass
from pyspark.sql import SparkSession

from odradek.pipeline.export.command import export
from odradek.pipeline.reading.registry_client import UndecodableError, decoder
from odradek.pipeline.reading.registry_texts import Decoding
from odradek.protocol.records.builder import encode_batch
from odradek.protocol.records.record import Record

from .schema_registry import SchemaRegistry

ORDER = {
    "type": "record",
    "name": "Order",
    "fields": [
        {"name": "id", "type": "long"},
        {"name": "note", "type": ["null", "string"], "default": None},
        {"name": "raw", "type": "bytes"},
        {"name": "at", "type": {"type": "long", "logicalType": "timestamp-millis"}},
    ],
}
NOTE = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}


@pytest.fixture(scope="module")
def registry() -> Iterator[SchemaRegistry]:
    with SchemaRegistry() as running:
        yield running


def framed(schema_id: int, data: bytes) -> bytes:
    return b"\0" + schema_id.to_bytes(4, "big") + data


def avro(registry: SchemaRegistry, value: dict[str, Any]) -> bytes:
    serializer = AvroSerializer(SchemaRegistryClient({"url": registry.url}), json.dumps(ORDER))
    return bytes(serializer(value, SerializationContext("orders", MessageField.VALUE)) or b"")


def note(registry: SchemaRegistry, text: str) -> bytes:
    schema_id = registry.register({"schema": json.dumps(NOTE), "schemaType": "JSON"})
    return framed(schema_id, json.dumps({"text": text}).encode())


def proto_file() -> descriptor_pb2.FileDescriptorProto:
    """A file with a message in a message, and a field of protobuf's own type of times."""
    file = descriptor_pb2.FileDescriptorProto(name="shop.proto", package="shop", syntax="proto3")
    file.dependency.append("google/protobuf/timestamp.proto")
    file.message_type.add(name="Other")
    outer = file.message_type.add(name="Basket")
    inner = outer.nested_type.add(name="Item")
    inner.field.add(name="item_name", number=1, type=9, label=1)
    inner.field.add(name="at", number=2, type=11, label=1, type_name=".google.protobuf.Timestamp")
    return file


def item(registry: SchemaRegistry, name: str) -> bytes:
    file = proto_file()
    schema = {"schema": 'syntax = "proto3"; …', "schemaType": "PROTOBUF"}
    schema_id = registry.register(schema, base64.b64encode(file.SerializeToString()).decode())
    pool = descriptor_pool.DescriptorPool()
    pool.AddSerializedFile(timestamp_pb2.DESCRIPTOR.serialized_pb)
    pool.Add(file)
    message = GetMessageClass(pool.FindMessageTypeByName("shop.Basket.Item"))()
    json_format.ParseDict({"item_name": name, "at": "2026-11-30T12:00:00Z"}, message)
    indexes = bytes([4, 2, 0])  # two indexes, zigzag: message 1, nested message 0
    return framed(schema_id, indexes + message.SerializeToString())


def write_log(root: Path, records: list[tuple[bytes | None, bytes | None]]) -> Path:
    (root / "orders-0").mkdir(parents=True)
    batch = encode_batch([Record(offset, 1_700_000_000_000, *pair, []) for offset, pair in enumerate(records)])
    (root / "orders-0" / "00000000000000000000.log").write_bytes(batch)
    (root / "meta.properties").write_text("version=1\n")
    return root


@pytest.fixture
def logs(registry: SchemaRegistry, tmp_path: Path) -> Path:
    """Keys in JSON Schema, values in Avro; a tombstone, a record without the wire format, one of an unknown schema."""
    order = {"id": 7, "note": "ß", "raw": b"\xff\0", "at": 1_700_000_000_000}
    records = [
        (note(registry, "a"), avro(registry, order)),
        (note(registry, "b"), None),
        (note(registry, "c"), b"plain"),
        (note(registry, "d"), framed(999, b"x")),
        (None, avro(registry, order | {"id": 8, "note": None})),
    ]
    return write_log(tmp_path / "logs", records)


def first_value() -> dict[str, Any]:
    return {"id": 7, "note": "ß", "raw": "\xff\0", "at": "2023-11-14T22:13:20+00:00"}


def test_export_writes_json(
    registry: SchemaRegistry, logs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = [str(logs), "--output", str(tmp_path / "out"), "--schema-registry", registry.url]
    assert export([*words, "--value-format", "avro", "--key-format", "json"]) == 2
    errors = capsys.readouterr().err
    assert "value-undecodable: it does not begin with the byte 0" in errors
    assert "value-undecodable: Schema not found" in errors
    rows = dataset.dataset(tmp_path / "out", partitioning="hive").to_table().sort_by("offset").to_pylist()
    assert [(row["offset"], row["key"]) for row in rows] == [(0, '{"text": "a"}'), (1, '{"text": "b"}'), (4, None)]
    assert json.loads(rows[0]["value"]) == first_value()
    assert rows[1]["value"] is None
    assert json.loads(rows[2]["value"])["note"] is None


def test_protobuf_of_a_nested_message(registry: SchemaRegistry, tmp_path: Path) -> None:
    root = write_log(tmp_path / "logs", [(None, item(registry, "tea"))])
    words = [str(root), "--output", str(tmp_path / "out"), "--schema-registry", registry.url]
    assert export([*words, "--value-format", "protobuf"]) == 0
    [row] = dataset.dataset(tmp_path / "out", partitioning="hive").to_table().to_pylist()
    assert json.loads(row["value"]) == {"item_name": "tea", "at": "2026-11-30T12:00:00Z"}


def test_a_schema_is_asked_for_once(registry: SchemaRegistry) -> None:
    data = avro(registry, {"id": 1, "note": None, "raw": b"", "at": 0})
    to_text = decoder(registry.url, "avro", is_key=False)
    to_text(data, "orders")
    before = len(registry.requests)
    assert {to_text(data, "orders") for _ in range(100)} == {to_text(data, "orders")}
    assert len(registry.requests) == before


@pytest.mark.parametrize("data", [b"", b"x", b"\0", b"\0\0\0", b"\2\0\0\0\1x"])
@pytest.mark.parametrize("kind", ["avro", "json", "protobuf"])
def test_what_is_not_the_wire_format_is_named(registry: SchemaRegistry, kind: str, data: bytes) -> None:
    with pytest.raises(UndecodableError):
        decoder(registry.url, kind, is_key=False)(data, "orders")


def test_a_registry_that_does_not_answer_ends_the_export(
    logs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = [str(logs), "--output", str(tmp_path / "out"), "--schema-registry", "http://name:secret@127.0.0.1:1"]
    assert export([*words, "--value-format", "avro"]) == 3
    errors = capsys.readouterr().err
    assert "http://127.0.0.1:1" in errors
    assert "secret" not in errors


def test_options_that_do_not_fit(logs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert export([str(logs), "--output", str(tmp_path / "out"), "--value-format", "avro"]) == 3
    assert "need schemaRegistry" in capsys.readouterr().err
    assert Decoding("http://x", None, "avro").format_of("key") is None


@pytest.mark.java
@pytest.mark.ci
def test_spark_reads_json_as_a_batch_and_as_a_stream(
    registry: SchemaRegistry, logs: Path, tmp_path: Path, spark: SparkSession
) -> None:
    options = {"valueFormat": "avro", "schemaRegistry": registry.url}
    frame = spark.read.format("kafkalog").options(**options).load(str(logs))
    assert dict(frame.dtypes)["value"] == "string"
    assert dict(frame.dtypes)["key"] == "binary"
    found = {row.offset: row for row in frame.collect()}
    assert json.loads(found[0].value) == first_value()
    assert "undecodable" in found[2]._corrupt_record
    stream = spark.readStream.format("kafkalog").options(**options, startingOffsets="earliest").load(str(logs))
    query = (
        stream.writeStream.format("parquet")
        .option("checkpointLocation", str(tmp_path / "checkpoint"))
        .trigger(availableNow=True)
        .start(str(tmp_path / "streamed"))
    )
    query.awaitTermination()
    streamed = {row.offset: row.value for row in spark.read.parquet(str(tmp_path / "streamed")).collect()}
    assert streamed == {offset: row.value for offset, row in found.items()}
