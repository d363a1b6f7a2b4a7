"""The output of a consumed record: Kafka's console format with its properties, or a line of JSON.

Pure. Source: ``org.apache.kafka.tools.consumer.DefaultMessageFormatter``.
"""

import json
from collections.abc import Mapping
from typing import Any, NamedTuple

from ..types import TIMESTAMP_TYPE_NAMES, ConsumerRecord
from .deserializers import Deserializer, deserializer_of
from .output import text_or_base64


class RecordFormat(NamedTuple):
    """The properties ``print.timestamp`` … ``null.literal`` of Kafka's console consumer."""

    print_timestamp: bool = False
    print_partition: bool = False
    print_offset: bool = False
    print_delivery: bool = False
    print_epoch: bool = False
    print_headers: bool = False
    print_key: bool = False
    print_value: bool = True
    key_separator: bytes = b"\t"
    line_separator: bytes = b"\n"
    headers_separator: bytes = b","
    null_literal: bytes = b"null"
    key_deserializer: Deserializer | None = None
    value_deserializer: Deserializer | None = None
    headers_deserializer: Deserializer | None = None

    @classmethod
    def properties(cls) -> dict[str, str]:
        """Kafka's name of each property -> the field."""
        return {name.replace("_", "."): name for name in cls._fields}

    @classmethod
    def of(cls, properties: Mapping[str, str]) -> "RecordFormat":
        """Parses Kafka's properties. Raises ValueError for an unknown property or deserializer."""
        known = cls.properties()
        unknown = sorted(set(properties) - set(known))
        if unknown:
            raise ValueError(f"unknown property {unknown[0]}; known are {', '.join(sorted(known))}")
        values: dict[str, Any] = {}
        for name, text in properties.items():
            if name.startswith("print."):
                values[known[name]] = text.strip().lower() == "true"
            elif name.endswith(".deserializer"):
                values[known[name]] = deserializer_of(text)
            else:
                values[known[name]] = text.encode()
        return cls(**values)

    def line(self, record: ConsumerRecord, delivery_count: int | None = None) -> bytes:
        """A record's output as Kafka prints it: the enabled fields with separators between them, a line separator.

        ``delivery_count``: how often a share group has delivered the record, None without a share group. Raises
        DeserializationError for bytes that a deserializer rejects.
        """
        parts: list[bytes] = []
        if self.print_timestamp:
            known = record.timestamp >= 0 or record.timestamp_type
            name = TIMESTAMP_TYPE_NAMES[record.timestamp_type]
            parts.append(f"{name}:{record.timestamp}".encode() if known else b"NO_TIMESTAMP")
        if self.print_partition:
            parts.append(b"Partition:%d" % record.partition)
        if self.print_offset:
            parts.append(b"Offset:%d" % record.offset)
        if self.print_delivery:
            parts.append(b"Delivery:NOT_PRESENT" if delivery_count is None else b"Delivery:%d" % delivery_count)
        if self.print_epoch:
            parts.append(b"Epoch:%d" % record.leader_epoch if record.leader_epoch >= 0 else b"Epoch:NOT_PRESENT")
        if self.print_headers:
            parts.append(self._headers(record))
        if self.print_key:
            parts.append(self._text(record.key, self.key_deserializer))
        if self.print_value:
            parts.append(self._text(record.value, self.value_deserializer))
        return self.key_separator.join(parts) + self.line_separator

    def _headers(self, record: ConsumerRecord) -> bytes:
        if not record.headers:
            return b"NO_HEADERS"
        return self.headers_separator.join(
            name.encode("utf-8", "replace") + b":" + self._text(value, self.headers_deserializer)
            for name, value in record.headers
        )

    def _text(self, data: bytes | None, deserializer: Deserializer | None) -> bytes:
        if data is None:
            return self.null_literal
        return data if deserializer is None else deserializer(data)

    def json_line(self, record: ConsumerRecord, delivery_count: int | None = None) -> bytes:
        """The record as one line of JSON; bytes that are not UTF-8 as ``{"base64": …}``.

        Raises DeserializationError as :meth:`line`.
        """

        def text(data: bytes | None, deserializer: Deserializer | None) -> Any:
            return text_or_base64(data if data is None or deserializer is None else deserializer(data))

        document: dict[str, Any] = {
            "topic": record.topic,
            "partition": record.partition,
            "offset": record.offset,
            "timestamp": record.timestamp,
            "timestampType": TIMESTAMP_TYPE_NAMES[record.timestamp_type],
            "key": text(record.key, self.key_deserializer),
            "value": text(record.value, self.value_deserializer),
            "headers": [
                {"key": name, "value": text(value, self.headers_deserializer)} for name, value in record.headers
            ],
        }
        if delivery_count is not None:
            document["deliveryCount"] = delivery_count
        return json.dumps(document, ensure_ascii=False).encode() + b"\n"
