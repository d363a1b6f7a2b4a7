"""Messages of the table as the JSON that Kafka's own tools print.

Pure. Owns: the rules of Kafka's generated ``*JsonConverter`` classes (which fields a version shows, how bytes and ids
look) and of Jackson's text. Never does: I/O, decoding of records. Invariant: `kafka_json(document(m, v))` is what
Kafka's converter prints for the same message, unknown tagged fields apart, which have no place there.
"""

import base64
import math
from typing import Any

from .messages.structure import Message, Structure
from .table import FieldSpec, Layout, message

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
"""What Jackson escapes in a text, and how."""


def document(of: Message, version: int) -> Document:
    """The message's fields by Kafka's names, in the table's order; bytes and ids as base64 text.

    A tagged field stands there only when it is not the default. Raises KeyError for a version that the message lacks.
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


def json_name(name: str) -> str:
    """A field's name in JSON: Kafka's own with a small first letter."""
    return name[0].lower() + name[1:]


def uuid_text(uuid: bytes) -> str:
    """16 bytes as Kafka's Uuid writes them: URL-safe base64 without padding."""
    return base64.urlsafe_b64encode(uuid).rstrip(b"=").decode()


def kafka_json(value: Any) -> str:
    """A document as Jackson prints it: no spaces, other letters than ASCII as they are, control characters as \\u001F.

    Floating-point numbers look as Java's Double.toString has them (10000000.0 is 1.0E7), NaN and infinities are texts.
    Raises TypeError for a value that can't be a document.
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
    raise TypeError(f"a {type(value).__name__} has no place in JSON")


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
