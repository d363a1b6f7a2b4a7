"""Builds the construct Struct of a message version from the message table, on first use.

Owns: the fields of each version with their order and form; the check that a version can carry the values. Never does:
I/O. Invariant: a Struct is for one version and has no conditions; its subcons are the layout of that version, in order.
Source: Kafka's message definitions, ``MessageDataGenerator``, KIP-482 (flexible versions).
"""

from typing import Any

from construct import Adapter, Construct, ConstructError, Container, Struct

from ..apis.table import FieldSpec, MessageSpec, message
from ..errors import ProtocolError
from .primitives import (
    COMPACT_LENGTH,
    FIXED,
    MAX_STRING_BYTES,
    Elements,
    Field,
    NullableStruct,
    SizedBytes,
    TaggedFields,
    Utf8,
)

TAGGED = "tagged_fields"
"""Name of the part of a flexible struct that holds its tagged fields."""


_structures: dict[tuple[type, int], Construct] = {}


def structure_of(cls: type[Any], version: int) -> Construct:
    """The Struct of a message class in a version. Raises ProtocolError for a version that the message does not have."""
    structure = _structures.get((cls, version))
    if structure is None:
        spec = message(cls.NAME)
        if version not in spec.versions:
            raise ProtocolError(f"{spec.name} has versions {spec.versions}, not {version}", "version")
        structure = _structures[cls, version] = VersionLayout(cls, spec, version).struct(spec.name)[0]
    return structure


class VersionLayout:
    """Builds the layouts for one version of a message. Methods return (layout, its smallest size in bytes)."""

    def __init__(self, cls: type[Any], spec: MessageSpec, version: int) -> None:
        self.cls = cls
        self.version = version
        self.is_flexible = spec.is_flexible(version)
        self.structures = spec.layout(version).structures
        self.of_all_versions = spec.structures()

    def struct(self, name: str) -> tuple["MessageLayout", int]:
        """The layout of the structure ``name``: its plain fields, then the tagged fields if the version is flexible."""
        specs = self.structures[name]
        wire: list[Field] = []
        least = 0
        for spec in specs.plain_fields(self.version):
            content, content_least = self.content(spec)
            wire.append(Field(spec.attribute, spec.type, content))
            least += content_least
        tagged: dict[int, Field] = {}
        for spec in specs.tagged_fields(self.version):
            assert spec.tag is not None
            tagged[spec.tag] = Field(spec.attribute, spec.type, self.content(spec)[0])
        all_tags = {spec.tag for spec in self.of_all_versions[name].fields if spec.tag is not None}
        here = {field.name for field in (*wire, *tagged.values())}
        never_lost = [
            spec.attribute
            for spec in self.of_all_versions[name].fields
            if spec.attribute not in here and not spec.ignorable
        ]
        if self.is_flexible:
            wire.append(Field(TAGGED, "tagged fields", TaggedFields(tagged, frozenset(all_tags - tagged.keys()))))
            least += 1
        cls = self.cls if name == self.cls.NAME else getattr(self.cls, name)
        return MessageLayout(Struct(*wire), cls, tagged, never_lost, is_flexible=self.is_flexible), least

    def content(self, spec: FieldSpec) -> tuple[Construct, int]:
        """The layout of a field's content: an array or a single value."""
        nullable = spec.is_nullable(self.version)
        compact = self.is_flexible and (spec.flexible_versions is None or self.version in spec.flexible_versions)
        if not spec.is_array:
            tagged = spec.is_tagged(self.version)
            return self.single(spec.type, nullable=nullable, compact=compact, tagged=tagged)
        element, element_least = self.single(spec.element, nullable=False, compact=compact)
        count = COMPACT_LENGTH if compact else FIXED["int32"]
        return Elements(count, element, element_least, spec.element, nullable=nullable), 1 if compact else 4

    def single(self, kind: str, *, nullable: bool, compact: bool, tagged: bool = False) -> tuple[Construct, int]:
        """The layout of one value of a type."""
        if kind in FIXED:
            return FIXED[kind], FIXED[kind].sizeof()
        if kind == "string":
            length = COMPACT_LENGTH if compact else FIXED["int16"]
            return Utf8(SizedBytes(length, nullable=nullable, limit=MAX_STRING_BYTES)), 1 if compact else 2
        if kind in ("bytes", "records"):
            return SizedBytes(COMPACT_LENGTH if compact else FIXED["int32"], nullable=nullable), 1 if compact else 4
        content, least = self.struct(kind)
        return (NullableStruct(content, tagged=tagged), 1) if nullable else (content, least)


class MessageLayout(Adapter):
    """A Struct whose values are objects of the generated class.

    When it encodes, it refuses values that the version would silently lose: a non-default value in a field that the
    version lacks (``never_lost``: such fields that are not marked ignorable), and unknown tagged fields in a version
    without tagged fields.
    """

    def __init__(
        self, subcon: Struct, cls: type[Any], tagged: dict[int, Field], never_lost: list[str], *, is_flexible: bool
    ) -> None:
        super().__init__(subcon)
        self.cls = cls
        self.tagged = tagged
        self.never_lost = never_lost
        self.is_flexible = is_flexible
        self.default = cls()

    def _decode(self, values: Container[Any], context: Any, path: str) -> Any:
        values.pop("_io", None)  # construct's own
        values.update(values.pop(TAGGED, {}))
        decoded = self.cls()
        for name, value in values.items():  # not passed to the constructor, which may take None for "the default"
            setattr(decoded, name, value)
        return decoded

    def _encode(self, message: Any, context: Any, path: str) -> dict[str, Any]:
        if not isinstance(message, self.cls):
            raise ConstructError(f"expected {self.cls.__qualname__}, found {type(message).__name__}", path=path)
        for name in self.never_lost:
            if getattr(message, name) != getattr(self.default, name):
                raise ConstructError(
                    "this version has no such field, and its value is not the default", f"{path}.{name}"
                )
        values = {field.name: getattr(message, field.name) for field in self.subcon.subcons if field.name != TAGGED}
        tagged = {field.name: getattr(message, field.name) for field in self.tagged.values()}
        tagged = {name: value for name, value in tagged.items() if value != getattr(self.default, name)}
        if self.is_flexible:
            tagged[TaggedFields.UNKNOWN] = message.unknown_tagged_fields
            values[TAGGED] = tagged
        elif message.unknown_tagged_fields:
            raise ConstructError("this version has no tagged fields", f"{path}.{TaggedFields.UNKNOWN}")
        return values
