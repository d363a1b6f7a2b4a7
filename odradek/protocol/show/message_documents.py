"""Converts messages to the JSON that Kafka's own tools print, and back.

Pure. Owns: the rules of Kafka's generated ``*JsonConverter`` classes (the fields of each version, the form of bytes and
ids) and of Jackson's output. Never does: I/O, decoding of records. Invariants: `kafka_json(document(m, v))` is what
Kafka's converter prints for the same message (without unknown tagged fields, which it does not print);
`read_document(type(m), v, document(m, v))` equals `m` in all fields that version `v` carries.
"""

import base64
import binascii
import math
from typing import Any, TypeVar

from ..apis.table import FieldSpec, Layout, message
from ..errors import ProtocolError
from ..messages.structure import Message, Structure

AnyMessage = TypeVar("AnyMessage", bound=Message)
Document = dict[str, Any]

_ESCAPES = {code: f"\\u{code:04X}" for code in range(0x20)} | {
    ord('"'): '\\"',
    ord("\\"): "\\\\",
    ord("\b"): "\\b",
    ord("\t"): "\\t",
    ord("\n"): "\\n",
    ord("\f"): "\\f",
    ord("\r"): "\\r",
}
"""Code point -> the escape sequence that Jackson writes for it in a string."""


def document(of: Message, version: int) -> Document:
    """A message as a dict: its fields by Kafka's names, in the table's order; bytes and ids as base64 text.

    Tagged fields with their default value are left out. Raises KeyError for a version that the message does not have.
    """
    spec = message(of.NAME)
    layout = spec.layout(version)
    return _structure(layout, spec.name, of, version)


def _structure(layout: Layout, name: str, of: Structure, version: int) -> Document:
    found: Document = {}
    for field in layout.structures[name].fields:
        if version not in field.versions:
            continue
        value = getattr(of, field.attribute)
        if field.is_tagged(version) and value == field.default:
            continue
        found[json_name(field.name)] = _value(layout, field, value, version)
    return found


def _value(layout: Layout, field: FieldSpec, value: Any, version: int) -> Any:
    if value is None:
        return None
    if field.is_array:
        return [_element(layout, field, element, version) for element in value]
    return _element(layout, field, value, version)


def _element(layout: Layout, field: FieldSpec, value: Any, version: int) -> Any:
    if field.is_structure:
        return _structure(layout, field.element, value, version)
    if field.element == "uuid":
        return uuid_text(value)
    if field.element in ("bytes", "records"):
        return base64.b64encode(value).decode()
    return value


def read_document(cls: type[AnyMessage], version: int, found: Document) -> AnyMessage:
    """Reverses :func:`document`: returns the message of a document.

    Like Kafka's converters, requires every field of the version except tagged ones. Raises ProtocolError, with the
    field's path, for a field that is missing, unknown or of another type; KeyError for a version that the message does
    not have.
    """
    spec = message(cls.NAME)
    read = cls()
    _fill(spec.layout(version), spec.name, cls, read, version, found, cls.NAME)
    return read


def _fill(
    layout: Layout, name: str, cls: type[Message], into: Structure, version: int, found: object, path: str
) -> None:
    """Sets the fields of a structure from its document."""
    if not isinstance(found, dict):
        raise ProtocolError("this must be an object", path)
    known = set()
    for field in layout.structures[name].fields:
        if version not in field.versions:
            continue
        key = json_name(field.name)
        known.add(key)
        if key in found:
            setattr(into, field.attribute, _read_value(layout, field, cls, version, found[key], f"{path}.{key}"))
        elif not field.is_tagged(version):
            raise ProtocolError("this field is missing", f"{path}.{key}")
    unknown = sorted(found.keys() - known)
    if unknown:
        raise ProtocolError(f"version {version} has no such field", f"{path}.{unknown[0]}")


def _read_value(layout: Layout, field: FieldSpec, cls: type[Message], version: int, value: Any, path: str) -> Any:
    if value is None:
        return None
    if not field.is_array:
        return _read_element(layout, field, cls, version, value, path)
    if not isinstance(value, list):
        raise ProtocolError("this must be a list", path)
    return [
        _read_element(layout, field, cls, version, element, f"{path}[{place}]") for place, element in enumerate(value)
    ]


def _read_element(layout: Layout, field: FieldSpec, cls: type[Message], version: int, value: Any, path: str) -> Any:
    kind = field.element
    if field.is_structure:
        structure = getattr(cls, kind)()
        _fill(layout, kind, cls, structure, version, value, path)
        return structure
    if kind == "uuid":
        return _bytes_of(value, path, size=16)
    if kind in ("bytes", "records"):
        return _bytes_of(value, path)
    types = {"bool": (bool,), "string": (str,), "float64": (float, int)}.get(kind, (int,))
    if not isinstance(value, types) or (isinstance(value, bool) and kind != "bool"):
        raise ProtocolError(f"this must be a {kind}, not {value!r:.100}", path)
    return value


def _bytes_of(value: Any, path: str, size: int | None = None) -> bytes:
    """Decodes base64 text, standard or URL-safe, with or without padding (Kafka's ids are URL-safe without padding)."""
    try:
        text = value.replace("-", "+").replace("_", "/")
        found = base64.b64decode(text + "=" * (-len(text) % 4), validate=True)
    except (AttributeError, binascii.Error, ValueError):
        raise ProtocolError(f"this must be base64 text, not {value!r:.100}", path) from None
    if size is not None and len(found) != size:
        raise ProtocolError(f"this must be an id of {size} bytes", path)
    return found


def json_name(name: str) -> str:
    """A field's name in JSON: Kafka's own with a small first letter."""
    return name[0].lower() + name[1:]


def uuid_text(uuid: bytes) -> str:
    """16 bytes as Kafka's Uuid writes them: URL-safe base64 without padding."""
    return base64.urlsafe_b64encode(uuid).rstrip(b"=").decode()


def kafka_json(value: Any) -> str:
    """A document as Jackson prints it: without spaces, non-ASCII characters as they are, control characters as \\u001F.

    Floats have the form of Java's Double.toString (10000000.0 is 1.0E7); NaN and infinities are strings.
    Raises TypeError for a value that is not JSON.
    """
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case str():
            return f'"{value.translate(_ESCAPES)}"'
        case int():
            return str(value)
        case float():
            return java_double(value) if math.isfinite(value) else f'"{java_double(value)}"'
        case dict():
            return "{" + ",".join(f"{kafka_json(name)}:{kafka_json(inner)}" for name, inner in value.items()) + "}"
        case list():
            return "[" + ",".join(map(kafka_json, value)) + "]"
    raise TypeError(f"a value of type {type(value).__name__} cannot be written as JSON")


def java_double(number: float) -> str:
    """A number as Java's Double.toString writes it: plain from 0.001 up to 10^7, else with an exponent."""
    if math.isnan(number):
        return "NaN"
    sign = "-" if math.copysign(1, number) < 0 else ""
    if math.isinf(number):
        return f"{sign}Infinity"
    shortest = repr(abs(number))
    if number == 0 or 1e-3 <= abs(number) < 1e7:
        return sign + shortest
    mantissa, _, exponent = shortest.partition("e")
    whole, _, fraction = mantissa.partition(".")
    digits = (whole + fraction).lstrip("0")
    scale = int(exponent or 0) + len(digits) - len(fraction) - 1
    digits = digits.rstrip("0")
    return f"{sign}{digits[0]}.{digits[1:] or '0'}E{scale}"
