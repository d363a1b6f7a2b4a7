"""Reads the metrics that a client pushes: OTLP ``MetricsData``, a protocol buffer.

Pure. Owns: the few fields of OTLP that are shown: the names, the attributes and the values of gauges and sums.
Never does: keeping values, decompressing. Invariants: no length of the data is trusted beyond the bytes that are there;
the work between two yields is bounded, whatever the bytes are. A library for protocol buffers would take 10 MB of
memory for these fields. Source: KIP-714; ``opentelemetry/proto/metrics/v1/metrics.proto`` of OTLP 1.
"""

from collections.abc import Iterator
from struct import Struct
from typing import NamedTuple

VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5
"""Wire types of protocol buffers."""
DOUBLE, LONG = Struct("<d"), Struct("<q")
VARINT_MAX_BYTES = 10
FIELDS_A_STEP = 256
"""The fields that are read between two yields. They take about 0.3 ms."""
FIELDS_OF_POINT_MAX = 256
"""The fields of one data point, or of the attributes of the client. Kafka's clients have 20 at most."""
DELTA = 1
NO_VALUE = 1
"""The flag of a data point without a value."""

Attributes = tuple[tuple[str, str], ...]
"""Names and values of a point's attributes, in the order in which they were sent."""


class OtlpError(Exception):
    """The bytes are not OTLP ``MetricsData``."""


class Point(NamedTuple):
    """One value of one metric. ``attributes``: of the point; ``resource``: of the client, such as its group.

    ``is_monotonic``: a counter. ``is_delta``: the value is the change since the point before.
    """

    name: str
    attributes: Attributes
    resource: Attributes
    value: float
    is_monotonic: bool
    is_delta: bool


class _FieldReader:
    """Reads the fields of messages, and counts them."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.fields_read = 0
        self._pause_at = FIELDS_A_STEP

    def take_pause(self) -> bool:
        """Whether it is time for a pause."""
        if self.fields_read < self._pause_at:
            return False
        self._pause_at = self.fields_read + FIELDS_A_STEP
        return True

    def fields(self, start: int, end: int) -> Iterator[tuple[int, int, int, int]]:
        """Yields the number of each field, its wire type, and the first byte and the end of its value.

        For a varint the third number is the value itself.
        """
        data, at = self.data, start
        while at < end:
            self.fields_read += 1
            key, at = data[at], at + 1
            if key >= 0x80:
                key, at = self.varint(at - 1, end)
            kind = key & 7
            if key < 8:
                raise OtlpError(f"field number 0 at byte {at}")
            if kind == BYTES:
                if at < end and data[at] < 0x80:  # most lengths have one byte
                    value_end, at = at + 1 + data[at], at + 1
                else:
                    length, at = self.varint(at, end)
                    value_end = at + length
            elif kind == VARINT:
                value, at = self.varint(at, end)
                yield key >> 3, kind, value, at
                continue
            elif kind in (FIXED64, FIXED32):
                value_end = at + (8 if kind == FIXED64 else 4)
            else:
                raise OtlpError(f"wire type {kind} at byte {at}")
            if value_end > end:
                raise OtlpError(f"a field at byte {at} ends after its message")
            yield key >> 3, kind, at, value_end
            at = value_end

    def varint(self, at: int, end: int) -> tuple[int, int]:
        """The number at ``at``, and where it ends."""
        data, value = self.data, 0
        for index in range(VARINT_MAX_BYTES):
            if at + index >= end:
                raise OtlpError(f"a number at byte {at} is cut off")
            byte = data[at + index]
            value |= (byte & 0x7F) << (7 * index)
            if byte < 0x80:
                return value & 0xFFFFFFFFFFFFFFFF, at + index + 1
        raise OtlpError(f"a number at byte {at} is too long")

    def text(self, start: int, end: int) -> str:
        """A string."""
        try:
            return self.data[start:end].decode()
        except UnicodeDecodeError:
            raise OtlpError(f"the text at byte {start} is not UTF-8") from None


def points(data: bytes) -> Iterator[Point | None]:
    """The points of a push; None at each pause. Raises OtlpError.

    Histograms and summaries have no points here: Kafka's clients send none.
    """
    reader = _FieldReader(data)
    for field, kind, start, end in reader.fields(0, len(data)):
        if field == 1 and kind == BYTES:
            yield from _of_resource(reader, start, end)
        if reader.take_pause():
            yield None


def _of_resource(reader: _FieldReader, start: int, end: int) -> Iterator[Point | None]:
    resource: Attributes = ()
    for field, kind, at, value_end in reader.fields(start, end):
        if kind == BYTES and field == 1:
            resource = _attributes(reader, at, value_end)
        elif kind == BYTES and field == 2:
            for scope_field, scope_kind, metric_start, metric_end in reader.fields(at, value_end):
                if scope_field == 2 and scope_kind == BYTES:
                    yield from _of_metric(reader, resource, metric_start, metric_end)
                if reader.take_pause():
                    yield None
        if reader.take_pause():
            yield None


def _of_metric(reader: _FieldReader, resource: Attributes, start: int, end: int) -> Iterator[Point | None]:
    name = ""
    for field, kind, at, value_end in reader.fields(start, end):
        if kind == BYTES and field == 1:
            name = reader.text(at, value_end)
        elif kind == BYTES and field == 5:
            yield from _of_values(reader, name, resource, at, value_end, is_monotonic=False, is_delta=False)
        elif kind == BYTES and field == 7:
            facts = {2: 0, 3: 0}
            for sum_field, sum_kind, number, _ in reader.fields(at, value_end):
                if sum_kind == VARINT and sum_field in facts:
                    facts[sum_field] = number
                if reader.take_pause():
                    yield None
            yield from _of_values(
                reader, name, resource, at, value_end, is_monotonic=bool(facts[3]), is_delta=facts[2] == DELTA
            )
        if reader.take_pause():
            yield None


def _of_values(
    reader: _FieldReader, name: str, resource: Attributes, start: int, end: int, *, is_monotonic: bool, is_delta: bool
) -> Iterator[Point | None]:
    """The points of a gauge or of a sum."""
    for field, kind, at, value_end in reader.fields(start, end):
        if field == 1 and kind == BYTES:
            attributes, value = _number(reader, at, value_end)
            if value is not None:
                yield Point(name, attributes, resource, value, is_monotonic, is_delta)
        if reader.take_pause():
            yield None


def _number(reader: _FieldReader, start: int, end: int) -> tuple[Attributes, float | None]:
    """The attributes and the value of a data point; None if it has no value."""
    limit = reader.fields_read + FIELDS_OF_POINT_MAX
    value: float | None = None
    has_value = True
    attributes = []
    for field, kind, at, value_end in reader.fields(start, end):
        _check(reader, limit)
        if field == 7 and kind == BYTES:
            attributes.append(_attribute(reader, limit, at, value_end))
        elif field == 4 and kind == FIXED64:
            value = DOUBLE.unpack_from(reader.data, at)[0]
        elif field == 6 and kind == FIXED64:
            value = float(LONG.unpack_from(reader.data, at)[0])
        elif field == 8 and kind == VARINT and at & NO_VALUE:
            has_value = False
    return tuple(attributes), value if has_value else None


def _attributes(reader: _FieldReader, start: int, end: int) -> Attributes:
    """The attributes of a client."""
    limit = reader.fields_read + FIELDS_OF_POINT_MAX
    found = []
    for field, kind, at, value_end in reader.fields(start, end):
        _check(reader, limit)
        if kind == BYTES and field == 1:
            found.append(_attribute(reader, limit, at, value_end))
    return tuple(found)


def _attribute(reader: _FieldReader, limit: int, start: int, end: int) -> tuple[str, str]:
    """The name and the value of an attribute; values that are lists or maps are empty."""
    name = value = ""
    for field, kind, at, value_end in reader.fields(start, end):
        _check(reader, limit)
        if kind == BYTES and field == 1:
            name = reader.text(at, value_end)
        elif kind == BYTES and field == 2:
            value = _any_value(reader, limit, at, value_end)
    return name, value


def _any_value(reader: _FieldReader, limit: int, start: int, end: int) -> str:
    value = ""
    for field, kind, at, value_end in reader.fields(start, end):
        _check(reader, limit)
        if kind == BYTES and field == 1:
            value = reader.text(at, value_end)
        elif kind == VARINT and field == 2:
            value = "true" if at else "false"
        elif kind == VARINT and field == 3:
            value = str(at - (1 << 64) if at >= 1 << 63 else at)
        elif kind == FIXED64 and field == 4:
            value = repr(DOUBLE.unpack_from(reader.data, at)[0])
    return value


def _check(reader: _FieldReader, limit: int) -> None:
    if reader.fields_read > limit:
        raise OtlpError(f"a data point or a client has more than {FIELDS_OF_POINT_MAX} fields")
