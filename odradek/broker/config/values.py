"""Converts texts to typed values and back, by Kafka's rules. Source: ConfigDef.parseType and ConfigDef.convertToString.

Types in Python: BOOLEAN bool, INT SHORT LONG int, DOUBLE float, STRING str, LIST tuple of str, CLASS str (the class's
name, never loaded), PASSWORD Password.
"""

import re
from collections.abc import Mapping

from odradek.protocol.common.lazy_imports import lazy_imports

with lazy_imports:
    import decimal

Value = bool | int | float | str | tuple[str, ...] | None
"""A typed value; a password is a ``Password``, which is a str."""

HIDDEN = "[hidden]"

_BITS = {"SHORT": 16, "INT": 32, "LONG": 64}
_WHOLE_NUMBER = re.compile(r"[+-]?[0-9]+")
_DOUBLE = re.compile(r"([+-]?)(?:(NaN|Infinity)|((?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)[fFdD]?)")
_JAVA_WHITESPACE = "".join(map(chr, range(0x21)))
_COMMA = re.compile(r"\s*,\s*", re.ASCII)


class Password(str):
    """A secret: a str whose repr hides it in logs and tracebacks."""

    __slots__ = ()

    def __repr__(self) -> str:
        return HIDDEN


def parse_value(name: str, type_name: str, text: str | None) -> Value:
    """The typed value of a text; None (null) stays None.

    Raises ValueError with Kafka's sentence, which has the key, the value and the expected type.
    """
    if text is None:
        return None
    trimmed = text.strip(_JAVA_WHITESPACE)
    if type_name == "BOOLEAN":
        if trimmed.lower() in ("true", "false"):
            return trimmed.lower() == "true"
        raise ValueError(invalid(name, text, "Expected value to be either true or false"))
    if type_name in _BITS:
        return _parse_whole_number(name, type_name, text, trimmed)
    if type_name == "DOUBLE":
        match = _DOUBLE.fullmatch(trimmed)
        if match is None:
            raise ValueError(invalid(name, text, "Not a number of type DOUBLE"))
        return float(match[1] + (match[2] or match[3]))
    if type_name == "LIST":
        return tuple(_COMMA.split(trimmed)) if trimmed else ()
    return Password(trimmed) if type_name == "PASSWORD" else trimmed


def _parse_whole_number(name: str, type_name: str, text: str, trimmed: str) -> int:
    bound = 1 << (_BITS[type_name] - 1)
    # Too long numbers are not converted: Python refuses more than 4300 digits with another error.
    if _WHOLE_NUMBER.fullmatch(trimmed) and len(trimmed) < 100:
        number = int(trimmed)
        if -bound <= number < bound:
            return number
    raise ValueError(invalid(name, text, f"Not a number of type {type_name}"))


def format_value(value: Value) -> str | None:
    """The text of a typed value as Kafka shows it: ``true``, ``a,b``, doubles as Java writes them."""
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return format_double(value)
    return ",".join(value) if isinstance(value, tuple) else str(value)


def format_double(number: float) -> str:
    """A double as Java's Double.toString writes it: ``0.5``, ``1.7976931348623157E308``."""
    if number != number:
        return "NaN"
    if number in (float("inf"), float("-inf")):
        return "Infinity" if number > 0 else "-Infinity"
    if number == 0 or 1e-3 <= abs(number) < 1e7:
        plain = format(decimal.Decimal(repr(number)), "f")
        return plain if "." in plain else plain + ".0"
    mantissa, exponent = f"{decimal.Decimal(repr(number)).normalize():E}".split("E")
    return f"{mantissa if '.' in mantissa else mantissa + '.0'}E{int(exponent)}"


def show(value: Value) -> str:
    """A value within a message, as Java shows it: lists in brackets, null, secrets hidden."""
    if isinstance(value, Password):
        return HIDDEN
    if isinstance(value, tuple):
        return f"[{', '.join(value)}]"
    return "null" if value is None else str(format_value(value))


def invalid(name: str, value: Value, why: str) -> str:
    """ConfigException's sentence for one bad value."""
    return f"Invalid value {show(value)} for configuration {name}: {why}"


def integer(values: Mapping[str, Value], key: str) -> int:
    """The value of a key whose values are whole numbers."""
    value = values[key]
    assert isinstance(value, int), key
    return value
