"""How a consumed record is printed: Kafka's console format and its properties, or a line of JSON.

Pure. Source: ``org.apache.kafka.tools.consumer.DefaultMessageFormatter``.
"""

import json
from collections.abc import Mapping
from typing import NamedTuple

from ..types import TIMESTAMP_TYPE_NAMES, ConsumerRecord
from .output import text_or_base64


class RecordFormat(NamedTuple):
    """The properties ``print.timestamp`` … ``null.literal`` of Kafka's console consumer."""

    print_timestamp: bool = False
    print_partition: bool = False
    print_offset: bool = False
    print_epoch: bool = False
    print_headers: bool = False
    print_key: bool = False
    print_value: bool = True
    key_separator: bytes = b"\t"
    line_separator: bytes = b"\n"
    headers_separator: bytes = b","
    null_literal: bytes = b"null"

    @classmethod
    def of(cls, properties: Mapping[str, str]) -> "RecordFormat":
        """From Kafka's properties. Raises ValueError for an unknown one."""
        known = {name.replace("_", "."): name for name in cls._fields}
        unknown = sorted(set(properties) - set(known))
        if unknown:
            raise ValueError(f"unknown property {unknown[0]}; known are {', '.join(sorted(known))}")
        flags = {known[n]: v.strip().lower() == "true" for n, v in properties.items() if n.startswith("print.")}
        texts = {known[n]: v.encode() for n, v in properties.items() if not n.startswith("print.")}
        return cls(**flags, **texts)  # type: ignore[arg-type]  # flags are bools, texts are bytes, by their names

    def line(self, record: ConsumerRecord) -> bytes:
        """The record with its separators, as Kafka prints it: the line's end comes with the value."""
        parts: list[bytes] = []
        if self.print_timestamp:
            known = record.timestamp >= 0 or record.timestamp_type
            name = TIMESTAMP_TYPE_NAMES[record.timestamp_type]
            parts.append(f"{name}:{record.timestamp}".encode() if known else b"NO_TIMESTAMP")
        if self.print_partition:
            parts.append(b"Partition:%d" % record.partition)
        if self.print_offset:
            parts.append(b"Offset:%d" % record.offset)
        if self.print_epoch:
            parts.append(b"Epoch:%d" % record.leader_epoch if record.leader_epoch >= 0 else b"Epoch:NOT_PRESENT")
        if self.print_headers:
            parts.append(self._headers(record))
        if self.print_key:
            parts.append(self._bytes(record.key))
        if self.print_value:
            parts.append(self._bytes(record.value))
        return self.key_separator.join(parts) + self.line_separator

    def _headers(self, record: ConsumerRecord) -> bytes:
        if not record.headers:
            return b"NO_HEADERS"
        return self.headers_separator.join(
            name.encode("utf-8", "replace") + b":" + self._bytes(value) for name, value in record.headers
        )

    def _bytes(self, data: bytes | None) -> bytes:
        return self.null_literal if data is None else data


def json_line(record: ConsumerRecord) -> bytes:
    """The record as one line of JSON; bytes that are not UTF-8 as ``{"base64": …}``."""
    document = {
        "topic": record.topic,
        "partition": record.partition,
        "offset": record.offset,
        "timestamp": record.timestamp,
        "timestampType": TIMESTAMP_TYPE_NAMES[record.timestamp_type],
        "key": text_or_base64(record.key),
        "value": text_or_base64(record.value),
        "headers": [{"key": name, "value": text_or_base64(value)} for name, value in record.headers],
    }
    return json.dumps(document, ensure_ascii=False).encode() + b"\n"
