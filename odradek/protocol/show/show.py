"""Prints the protocol: the fields of a message, and which bytes of a given message are which field.

Owns: the words and columns. Never does: I/O; construct is imported only where bytes are taken apart. Invariant: a field
stands where the bytes have it.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

from ..apis.table import FieldSpec, MessageSpec, message, message_names, messages
from ..errors import ProtocolError
from ..messages.structure import HIDDEN, SECRETS, is_secret_config

if TYPE_CHECKING:
    from ..reference.trace import Note

BYTES_SHOWN = 16
"""How many bytes of a field are printed before the rest is left out."""


@dataclass(frozen=True, slots=True)
class Line:
    """One field of a message as it is printed."""

    depth: int
    name: str
    type: str
    versions: str
    """Empty where the field has all versions of its message, or one version is printed."""
    notes: str


def find(name: str) -> list[MessageSpec]:
    """The messages that a name stands for: ``Produce`` is request and response, as is an api key's number.

    Upper and lower case don't matter. Raises ProtocolError, with what may be meant, for an unknown name.
    """
    lower_name = name.lower()
    if lower_name.isdecimal():
        found = [
            spec for spec in messages() if spec.api_key == int(lower_name) and spec.type in ("request", "response")
        ]
    else:
        found = [message(known) for known in message_names() if known.lower() == lower_name]
        found = found or [
            message(known)
            for known in message_names()
            if known.lower() in (lower_name + "request", lower_name + "response")
        ]
    if not found:
        known_names = {known.lower(): known for known in message_names()}
        short = {known.removesuffix("request"): name.removesuffix("Request") for known, name in known_names.items()}
        meant = get_close_matches(lower_name, [*short, *known_names], n=3)
        spelt = dict.fromkeys((short | known_names)[known] for known in meant)
        hint = f"; did you mean {', '.join(spelt)}?" if spelt else ""
        raise ProtocolError(f"no message is called '{name}'{hint}")
    return found


def lines(spec: MessageSpec, version: int | None = None) -> Iterator[Line]:
    """The fields of a message in order, those of a structure under its field; without a version of all together."""
    yield from _structure(spec, spec.name, version, 0)


def _structure(spec: MessageSpec, name: str, version: int | None, depth: int) -> Iterator[Line]:
    if version is None:
        fields: Iterable[FieldSpec] = spec.structures()[name].fields
    else:
        structure = spec.layout(version).structures[name]
        fields = [*structure.plain_fields(version), *structure.tagged_fields(version)]
    for field in fields:
        there = "" if version is not None else _versions(spec, name, field)
        yield Line(depth, field.name, field.type, there, ", ".join(_notes(spec, field, version)))
        if field.is_structure:
            yield from _structure(spec, field.element, version, depth + 1)


def _versions(spec: MessageSpec, structure_name: str, field: FieldSpec) -> str:
    """The versions of the message that have the field, as ``2``, ``2-4`` or ``2+``; empty for all."""
    there = []
    for version in spec.versions:
        structure = spec.layout(version).structures.get(structure_name)
        own = structure and next((f for f in structure.fields if f.name == field.name), None)
        if own and version in own.versions:
            there.append(version)
    if not there:
        return "none"
    if len(there) == spec.versions.highest - spec.versions.lowest + 1:
        return ""
    first, last = there[0], there[-1]
    if last == spec.versions.highest:
        return f"{first}+"
    return str(first) if first == last else f"{first}-{last}"


def _notes(spec: MessageSpec, field: FieldSpec, version: int | None) -> Iterator[str]:
    """Further facts of a field: tag, null, default, what happens in versions without it."""
    first = max(field.versions.lowest, spec.versions.lowest)
    if field.tag is not None and (version is None or field.is_tagged(version)):
        everywhere = version is not None or field.tagged_versions.lowest <= first
        yield f"tag {field.tag}" if everywhere else f"tag {field.tag} in {field.tagged_versions}"
    if version is None:
        if field.nullable_versions:
            everywhere = field.nullable_versions.lowest <= first
            yield "nullable" if everywhere else f"nullable in {field.nullable_versions}"
    elif field.is_nullable(version):
        yield "nullable"
    if field.default is None and field.type != "records":
        yield "default null"
    elif field.default not in (0, False, "", b"", [], {}, bytes(16), None):
        yield f"default {field.default}"
    if version is None and field.ignorable:
        yield "ignorable"
    if field.map_key:
        yield "map key"


def heading(spec: MessageSpec) -> str:
    """``ProduceRequest: api key 0, versions 0-13, flexible from 9``."""
    parts = [f"versions {spec.versions}" if spec.versions else "no versions left"]
    if spec.api_key >= 0:
        parts.insert(0, f"api key {spec.api_key}")
    if spec.flexible_versions:
        parts.append(f"flexible from {spec.flexible_versions.lowest}")
    if spec.latest_version_unstable:
        parts.append("latest version unstable")
    if spec.listeners:
        parts.append(f"on {', '.join(spec.listeners)}")
    return f"{spec.name}: {', '.join(parts)}"


def tree(spec: MessageSpec, version: int | None = None) -> list[str]:
    """The fields as lines of text in columns, those of a structure indented under its field.

    Raises ProtocolError for a version that the message does not have.
    """
    if version is not None and version not in spec.versions:
        raise ProtocolError(f"{spec.name} has versions {spec.versions}, not {version}")
    rows = [(f"{'  ' * line.depth}{line.name}", line.type, line.versions, line.notes) for line in lines(spec, version)]
    return columns(rows)


def columns(rows: Sequence[tuple[str, ...]]) -> list[str]:
    """Rows as text, each column as wide as its widest cell; empty columns are left out."""
    if not rows:
        return []
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    shown = [i for i, width in enumerate(widths) if width]
    return ["  ".join(row[i].ljust(widths[i]) for i in shown).rstrip() for row in rows]


def apis() -> list[tuple[MessageSpec, MessageSpec]]:
    """Request and response of every API, by api key."""
    requests = sorted((s for s in messages() if s.type == "request"), key=lambda spec: spec.api_key)
    return [(request, message(request.name.removesuffix("Request") + "Response")) for request in requests]


def field_lines(notes: Iterable["Note"], data: bytes, at: int = 0) -> list[str]:
    """Every field of traced bytes in a line of its own: offset (of the first byte ``at``), bytes, name, value."""
    rows = [("offset", "bytes", "field", "value")]
    notes = list(notes)
    secrets = secret_paths(notes)
    for note in notes:
        name = note.path.rpartition(".")[2] or note.path
        digits, value = _hex(note, data, secrets), value_of(note, secrets)
        rows.append((str(at + note.start), digits, f"{'  ' * note.depth}{name}", value))
    width = max(len(row[0]) for row in rows)
    return columns([(row[0].rjust(width), *row[1:]) for row in rows])


def secret_paths(notes: Iterable["Note"]) -> frozenset[str]:
    """The paths of the fields that hold secrets: passwords, tokens, and values of configs that are passwords."""
    found = set()
    for note in notes:
        parent, dot, name = note.path.rpartition(".")
        if name in SECRETS:
            found.add(note.path)
        elif name == "name" and is_secret_config(note.value):
            found.add(f"{parent}{dot}value")
    return frozenset(found)


def _hex(note: "Note", data: bytes, secrets: frozenset[str]) -> str:
    """The bytes of a field in hexadecimal; for a field with inner fields, only its length or count. Hides secrets."""
    end = note.content if note.holds_others else note.end
    own = data[note.start : end]
    if note.path in secrets:
        return f"hidden: {len(own)} bytes"
    rest = f"… {len(own)} bytes" if len(own) > BYTES_SHOWN else ""
    return own[:BYTES_SHOWN].hex() + rest


def value_of(note: "Note", secrets: frozenset[str]) -> str:
    """A field's value as text; ``?`` for a field in which the parse stopped. Hides the fields with a path in
    ``secrets``."""
    value: Any = note.value
    if note.end is None:
        return "" if note.holds_others else "?"
    if note.path in secrets and isinstance(value, str):
        return HIDDEN
    if isinstance(value, dict):
        if note.kind == "int16":  # the attributes of a batch: their bits by name
            set_bits = [name for name, bit in value.items() if bit is True]
            return ", ".join([*(str(bit) for bit in value.values() if isinstance(bit, str)), *set_bits])
        return "" if value else "none"  # the tagged fields
    if isinstance(value, list):
        return f"{len(value)} x {note.kind.removeprefix('[]')}"
    if isinstance(value, bytes):
        if note.kind == "uuid":
            return value.hex()
        return f"{len(value)} bytes"
    if value is None or isinstance(value, bool | int | float | str):
        return "null" if value is None else repr(value)
    return note.kind
