"""Generates the source text of the message classes.

Owns: the form of a class: slots, ``__init__``, docstring. Never does: I/O. Invariant: the text is already formatted as
the project's formatter would.
"""

import textwrap
from collections.abc import Iterable

from ..apis.table import FOREVER, INTEGER_RANGES, FieldSpec, MessageSpec, StructureSpec
from .notes import FIELD_NOTES

PYTHON_TYPES = {
    **dict.fromkeys(INTEGER_RANGES, "int"),
    "bool": "bool",
    "float64": "float",
    "string": "str",
    "bytes": "bytes",
    "uuid": "bytes",
    "records": "Records",
}
INDENT = "    "
LINE_LENGTH = 120


def module_source(about: str, specs: Iterable[MessageSpec]) -> str:
    """The source of a module with the classes of one family of messages."""
    classes = [class_source(spec) for spec in sorted(specs, key=lambda spec: spec.name)]
    body = "\n\n\n".join(classes)
    imported = [
        name
        for name in ("NEW_LIST", "NEW_STRUCTURE", "ZERO_UUID", "Message", "Records", "Structure")
        if name in _words(body)
    ]
    head = [
        f'"""{about}.',
        "",
        "Generated from the message table by ``python -m odradek.protocol.generate``; do not edit.",
        '"""',
        "",
        "from __future__ import annotations",
        "",
        "from typing import ClassVar",
        "",
        f"from .structure import {', '.join(imported)}",
        "",
        "",
    ]
    return "\n".join(head) + "\n" + body + "\n"


def _words(text: str) -> set[str]:
    return set("".join(c if c.isalnum() or c == "_" else " " for c in text).split())


def class_source(spec: MessageSpec) -> str:
    """The source of the class of a message; the classes of its structures are nested in it."""
    structures = spec.structures()
    lines = [f"class {spec.name}(Message):", *_docstring(_about_message(spec), spec, structures[spec.name])]
    for name, structure in structures.items():
        if name != spec.name:
            lines += ["", f"{INDENT}class {name}(Structure):"]
            inner = [*_docstring(_about_structure(structure), spec, structure), "", *_slots(structure)]
            lines += [f"{INDENT}{line}" if line else "" for line in [*inner, *_init(spec, structure)]]
    lines += ["", *_slots(structures[spec.name]), "", *_constants(spec), *_init(spec, structures[spec.name])]
    return "\n".join(lines)


def _about_message(spec: MessageSpec) -> str:
    kind = {"metadata": "metadata record", "coordinator-key": "record key", "coordinator-value": "record value"}
    parts = [f"Kafka's {spec.name} ({kind.get(spec.type, spec.type)})"]
    if spec.api_key >= 0:
        parts.append(f"{'API key' if spec.type in ('request', 'response') else 'type'} {spec.api_key}")
    parts.append(f"versions {spec.versions}")
    if spec.flexible_versions:
        parts.append(f"flexible {spec.flexible_versions}")
    if spec.deprecated_versions:
        parts.append(f"deprecated {spec.deprecated_versions}")
    if spec.listeners:
        parts.append(f"listeners {' and '.join(spec.listeners)}")
    if spec.latest_version_unstable:
        parts.append("the latest version is not stable yet")
    return ", ".join(parts) + "."


def _about_structure(structure: StructureSpec) -> str:
    return f"Structure {structure.name}, versions {structure.versions}."


def _docstring(about: str, spec: MessageSpec, structure: StructureSpec) -> list[str]:
    """The lines of a docstring: ``about``, then for each field its wire type, versions and meaning."""
    wrapped = textwrap.wrap(about, LINE_LENGTH - 12)
    if not structure.fields:
        if len(wrapped) == 1:
            return [f'{INDENT}"""{about}"""']
        return [f'{INDENT}"""{wrapped[0]}', *(INDENT + line for line in wrapped[1:]), f'{INDENT}"""']
    fields = [line for field in structure.fields for line in _field_note(spec, field)]
    first, *rest = wrapped
    return [
        f'{INDENT}"""{first}',
        *(INDENT + line for line in rest),
        "",
        *(f"{INDENT}{line}" for line in fields),
        f'{INDENT}"""',
    ]


def _field_note(spec: MessageSpec, field: FieldSpec) -> list[str]:
    notes = [field.type, f"versions {field.versions}"]
    if field.nullable_versions:
        notes.append(f"nullable {field.nullable_versions}")
    if field.tag is not None:
        notes.append(
            f"tag {field.tag}" + ("" if field.tagged_versions == field.versions else f" in {field.tagged_versions}")
        )
    if field.ignorable:
        notes.append("ignorable")
    if field.map_key:
        notes.append("map key")
    meaning = FIELD_NOTES.get(field.attribute)
    text = f"- {field.attribute}: {', '.join(notes)}" + (f"; {meaning}" if meaning else "")
    return textwrap.wrap(text, LINE_LENGTH - 8, subsequent_indent="  ")


def _slots(structure: StructureSpec) -> list[str]:
    names = [f'"{field.attribute}"' for field in structure.fields]
    if len(names) < 2:
        return [f"{INDENT}__slots__ = ({names[0]},)" if names else f"{INDENT}__slots__ = ()"]
    return [f"{INDENT}__slots__ = (", *(f"{INDENT * 2}{name}," for name in names), f"{INDENT})"]


def _constants(spec: MessageSpec) -> list[str]:
    versions = spec.versions
    flexible = spec.flexible_versions.lowest if spec.flexible_versions else FOREVER
    return [
        f'{INDENT}NAME: ClassVar[str] = "{spec.name}"',
        f"{INDENT}API_KEY: ClassVar[int] = {spec.api_key}",
        f"{INDENT}VERSIONS: ClassVar[tuple[int, int]] = ({versions.lowest}, {versions.highest})",
        f"{INDENT}FLEXIBLE_SINCE: ClassVar[int] = {flexible}",
    ]


def _init(spec: MessageSpec, structure: StructureSpec) -> list[str]:
    if not structure.fields:
        return []  # inherits the one of `Structure`
    lines = ["", f"{INDENT}def __init__(", f"{INDENT * 2}self,"]
    for field in structure.fields:
        lines += _parameter(spec, field, nested=structure.name != spec.name)
    lines.append(f"{INDENT}) -> None:")
    for field in structure.fields:
        lines += _assignment(field.attribute, _value(spec, field), nested=structure.name != spec.name)
    lines.append(f"{INDENT * 2}self.unknown_tagged_fields = None")
    return lines


def python_type(spec: MessageSpec, field: FieldSpec) -> str:
    """The Python type of a field's values, without ``| None``."""
    element = PYTHON_TYPES.get(field.element) or f"{spec.name}.{field.element}"
    return f"list[{element}]" if field.is_array else element


def may_be_null(field: FieldSpec) -> bool:
    """Whether the field can be None in some version."""
    return bool(field.nullable_versions) or field.default is None


def _parameter(spec: MessageSpec, field: FieldSpec, nested: bool) -> list[str]:
    kind = python_type(spec, field)
    fresh = is_fresh(field)
    if may_be_null(field) or (fresh and default_source(field) == "None"):
        kind += " | None"
    line = f"{INDENT * 2}{field.attribute}: {kind} = {default_source(field)},"
    if len(line) + len(INDENT) * nested <= LINE_LENGTH:
        return [line]
    head, tail = line.rsplit(" | None", 1)
    return [head, f"{INDENT * 2}| None{tail}"]


def is_fresh(field: FieldSpec) -> bool:
    """Whether the default is a list or a structure: it is mutable, so it can't be the default of a parameter."""
    return field.default is not None and (field.is_array or field.is_structure)


def default_source(field: FieldSpec) -> str:
    """The source of the default of the field's parameter in ``__init__``."""
    if is_fresh(field):
        if not may_be_null(field):
            return "None"
        return "NEW_LIST" if field.is_array else "NEW_STRUCTURE"
    if field.type == "uuid":
        return "ZERO_UUID"
    if field.type in ("string", "bytes") and field.default is not None:
        return f'"{field.default}"' if field.type == "string" else 'b""'
    return repr(field.default)


def _assignment(attribute: str, value: str, nested: bool) -> list[str]:
    """The source of ``self.attribute = value``; the value is in parentheses if the line would be too long."""
    line = f"{INDENT * 2}self.{attribute} = {value}"
    if len(line) + len(INDENT) * nested <= LINE_LENGTH:
        return [line]
    whole = [f"{INDENT * 3}{value}"]
    if len(whole[0]) + len(INDENT) * nested > LINE_LENGTH:
        fresh, rest = value.split(" if ")
        condition, given = rest.split(" else ")
        whole = [f"{INDENT * 3}{part}" for part in (fresh, f"if {condition}", f"else {given}")]
    return [f"{INDENT * 2}self.{attribute} = (", *whole, f"{INDENT * 2})"]


def _value(spec: MessageSpec, field: FieldSpec) -> str:
    name = field.attribute
    if not is_fresh(field):
        return name
    fresh = "[]" if field.is_array else f"{spec.name}.{field.element}()"
    return f"{fresh} if {name} is {default_source(field)} else {name}"
