"""Reads JSON lines into Arrow: with Arrow's parser in blocks, or with Python's for a block that Arrow's refuses.

    {"topic": "orders", "partition": 0, "offset": 17, "timestamp": 1700000000000, "timestampType": "CreateTime",
     "key": "a", "value": {"base64": "AP8="}, "headers": [{"key": "h", "value": "1"}]}

`odradek consume --json` prints such lines. Keys and values are text, `{"base64": …}`, or null. With `is_base64`, every
text is base64. A timestamp is a number of ms since 1970 or a text in ISO 8601.
"""

import base64
import binascii
import json
from collections.abc import Callable, Iterator
from datetime import datetime
from typing import Any

import pyarrow as pa
import pyarrow.json

from ..decode.arrow_columns import HEADERS_TYPE
from .inputs import ImportRefusedError, InputPart

_TEXT_HEADERS = pa.list_(pa.struct([pa.field("key", pa.string()), pa.field("value", pa.string())]))
_PLACES = [("topic", pa.string()), ("partition", pa.int32()), ("offset", pa.int64()), ("timestampType", pa.string())]
_TEXT_SCHEMA = pa.schema(
    [*_PLACES, ("timestamp", pa.int64()), ("key", pa.string()), ("value", pa.string()), ("headers", _TEXT_HEADERS)]
)
_BYTES_SCHEMA = pa.schema(
    [*_PLACES, ("timestamp", pa.int64()), ("key", pa.binary()), ("value", pa.binary()), ("headers", HEADERS_TYPE)]
)
_TIMESTAMP_TYPE_NAMES = ("CreateTime", "LogAppendTime")
ToBytes = Callable[[Any], bytes | None]


def read_lines(part: InputPart, *, is_base64: bool, block_bytes: int) -> Iterator[Any]:
    """Yields record batches of the lines that begin in the part, about `block_bytes` at a time.

    Raises ImportRefusedError, OSError.
    """
    for position, block in _blocks(part, block_bytes):
        if not is_base64:
            try:
                table = pyarrow.json.read_json(
                    pa.BufferReader(block),
                    read_options=pyarrow.json.ReadOptions(block_size=len(block) + 1),
                    parse_options=pyarrow.json.ParseOptions(
                        explicit_schema=_TEXT_SCHEMA, unexpected_field_behavior="ignore"
                    ),
                )
            except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
                pass  # base64, a time as text, or an error, which Python's parser reports
            else:
                if not table.column("value").null_count:  # a null may be a missing value, which _parse refuses
                    yield from table.to_batches()
                    continue
        yield _parse(part, position, block, _decoded if is_base64 else _text_or_base64)


def _blocks(part: InputPart, block_bytes: int) -> Iterator[tuple[int, bytes]]:
    """Yields (position in bytes, whole lines)."""
    with open(part.path, "rb") as file:
        if part.start:
            file.seek(part.start - 1)
            file.readline()
        position = file.tell()
        while position < part.end:
            block = file.read(min(block_bytes, part.end - position)) + file.readline()
            if block.strip():
                yield position, block
            position += len(block)


def _parse(part: InputPart, position: int, block: bytes, to_bytes: ToBytes) -> Any:
    rows = []
    for line in block.splitlines(keepends=True):
        if line.strip():
            try:
                rows.append(_row(json.loads(line), to_bytes))
            except (ValueError, TypeError, KeyError, AttributeError) as error:
                raise ImportRefusedError(f"{part.path}: the line at byte {position}: {error}") from error
        position += len(line)
    try:
        return pa.RecordBatch.from_pylist(rows, _BYTES_SCHEMA)
    except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
        raise ImportRefusedError(f"{part.path}: one of {len(rows)} lines before byte {position}: {error}") from error


def _row(document: Any, to_bytes: ToBytes) -> dict[str, Any]:
    if not isinstance(document, dict) or "value" not in document:
        raise ValueError("it must be an object with a member named value")
    timestamp = document.get("timestamp")
    if isinstance(timestamp, str):
        moment = datetime.fromisoformat(timestamp)
        if moment.tzinfo is None:
            raise ValueError(f"timestamp {timestamp} has no time zone; add one, such as Z")
        timestamp = round(moment.timestamp() * 1000)
    timestamp_type = document.get("timestampType")
    if isinstance(timestamp_type, int):
        timestamp_type = _TIMESTAMP_TYPE_NAMES[timestamp_type]
    return {
        **{name: document.get(name) for name in ("topic", "partition", "offset")},
        "timestamp": timestamp,
        "timestampType": timestamp_type,
        "key": to_bytes(document.get("key")),
        "value": to_bytes(document["value"]),
        "headers": [
            {"key": header["key"], "value": to_bytes(header.get("value"))} for header in document.get("headers") or []
        ],
    }


def _text_or_base64(value: Any) -> bytes | None:
    if isinstance(value, dict) and list(value) == ["base64"]:
        return _decoded(value["base64"])
    if value is None:
        return None
    if not isinstance(value, str):
        raise ValueError('key, value and values of headers must be text, {"base64": text} or null')
    return value.encode()


def _decoded(value: Any) -> bytes | None:
    if value is None:
        return None
    if not isinstance(value, str):
        raise ValueError("base64 must be text")
    try:
        return base64.b64decode(value, validate=True)
    except binascii.Error as error:
        raise ValueError(f"base64: {error}") from error
