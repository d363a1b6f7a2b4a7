"""Generates the source text of the message classes.

Owns: the form of a class: docstring, constants, fields with their defaults. Never does: I/O. Invariant: the text is
already formatted as the project's formatter would.
"""

import textwrap
from collections.abc import Iterable

from ..apis.table import FOREVER, INTEGER_RANGES, FieldSpec, MessageSpec, StructureSpec

PYTHON_TYPES = {
    **dict.fromkeys(INTEGER_RANGES, "int"),
    "bool": "bool",
    "float64": "float",
    "string": "str",
    "bytes": "bytes",
    "uuid": "bytes",
    "records": "Records",
}
FIELD_NOTES = {
    "acks": "the replicas that must have the records: -1 all in sync, 1 the leader, 0 without an answer",
    "broker_epoch": "the epoch of the broker's registration",
    "current_leader_epoch": "the leader epoch that the sender knows, -1 for none",
    "error_code": "an ErrorCode, 0 for success",
    "error_message": "a text for people",
    "generation_id": "counts the rebalances of the group",
    "group_instance_id": "the name of a static member (KIP-345), null for a dynamic one",
    "high_watermark": "the end of the records that all in-sync replicas have",
    "incarnation_id": "is new at each start of the process",
    "isolation_level": "0 reads all records, 1 only committed ones",
    "last_stable_offset": "the end of the records that readers of committed records see",
    "leader_epoch": "counts the changes of the leader",
    "log_start_offset": "the first offset that is not deleted",
    "member_epoch": "counts the assignments that the member has taken over (KIP-848)",
    "producer_epoch": "fences earlier instances of the producer",
    "producer_id": "the id of an idempotent or transactional producer",
    "rebalance_timeout_ms": "how long members have to join, or to give up partitions",
    "session_timeout_ms": "how long a member may be silent before it is removed",
    "subtopology_id": "the part of a Streams topology that runs in one task",
    "throttle_time_ms": "how long the client should wait before its next request, because of a quota",
    "topic_id": "the id of the topic, which a new topic of the same name does not share (KIP-516)",
    "transactional_id": "the name of a transactional producer, the same after its restart",
    "validate_only": "checks the request and changes nothing",
}
"""Field name -> its meaning, as the end of a sentence for the docstring of the class. Only names that mean the same in
every message."""
INDENT = "    "
LINE_LENGTH = 120


def module_source(about: str, specs: Iterable[MessageSpec]) -> str:
    """The source of a module with the classes of one family of messages."""
    classes = [class_source(spec) for spec in sorted(specs, key=lambda spec: spec.name)]
    body = "\n\n\n".join(classes)
    imported = [
        name
        for name in ("NEW_LIST", "NEW_NULLABLE_LIST", "NEW_STRUCTURE", "ZERO_UUID", "Message", "Records", "Structure")
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
    lines = [f"class {spec.name}(Message):", *_docstring(_about_message(spec))]
    for name, structure in structures.items():
        if name != spec.name:
            inner = [*_docstring(_about_structure(structure)), *_fields(spec, structure)]
            lines += ["", f"{INDENT}class {name}(Structure):", *(f"{INDENT}{line}" if line else "" for line in inner)]
    return "\n".join([*lines, "", *_constants(spec), *_fields(spec, structures[spec.name])])


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


def _docstring(text: str) -> list[str]:
    first, *rest = textwrap.wrap(text, LINE_LENGTH - 14)
    if not rest:
        return [f'{INDENT}"""{first}"""']
    return [f'{INDENT}"""{first}', *(INDENT + line for line in rest), f'{INDENT}"""']


def _fields(spec: MessageSpec, structure: StructureSpec) -> list[str]:
    """The lines of the fields. Below each stand its wire type, versions and meaning, where editors look for it."""
    lines = [""] if structure.fields else []
    for field in structure.fields:
        kind = python_type(spec, field) + (" | None" if may_be_null(field) else "")
        lines.append(f"{INDENT}{field.attribute}: {kind} = {default_source(field)}")
        lines += _docstring(_field_note(field))
    return lines


def _field_note(field: FieldSpec) -> str:
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
    return f"{', '.join(notes)}" + (f"; {meaning}" if meaning else "")


def _constants(spec: MessageSpec) -> list[str]:
    versions = spec.versions
    flexible = spec.flexible_versions.lowest if spec.flexible_versions else FOREVER
    return [
        f'{INDENT}NAME = "{spec.name}"',
        f"{INDENT}API_KEY = {spec.api_key}",
        f"{INDENT}VERSIONS = ({versions.lowest}, {versions.highest})",
        f"{INDENT}FLEXIBLE_SINCE = {flexible}",
    ]


def python_type(spec: MessageSpec, field: FieldSpec) -> str:
    """The Python type of a field's values, without ``| None``."""
    element = PYTHON_TYPES.get(field.element) or f"{spec.name}.{field.element}"
    return f"list[{element}]" if field.is_array else element


def may_be_null(field: FieldSpec) -> bool:
    """Whether the field can be None in some version."""
    return bool(field.nullable_versions) or field.default is None


def is_fresh(field: FieldSpec) -> bool:
    """Whether the default is a list or a structure: it is mutable, so it can't be the default of a parameter."""
    return field.default is not None and (field.is_array or field.is_structure)


def default_source(field: FieldSpec) -> str:
    """The source of the field's default."""
    if is_fresh(field):
        if not field.is_array:
            return "NEW_STRUCTURE"
        return "NEW_NULLABLE_LIST" if may_be_null(field) else "NEW_LIST"
    if field.type == "uuid":
        return "ZERO_UUID"
    if field.type in ("string", "bytes") and field.default is not None:
        return f'"{field.default}"' if field.type == "string" else 'b""'
    return repr(field.default)
