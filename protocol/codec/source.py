"""Shared by the generators of decoders and encoders: wire formats of fixed size, least sizes, and lines of source.

Pure. Owns: the source text while it grows. Never does: I/O, compiling.
"""

from typing import Any, Final

from ..messages.structure import Message, Structure
from ..table import FieldSpec, Layout, MessageSpec, StructureSpec, snake_case

FORMATS: Final = {
    "int8": ("b", 1),
    "int16": ("h", 2),
    "uint16": ("H", 2),
    "int32": ("i", 4),
    "uint32": ("I", 4),
    "int64": ("q", 8),
    "bool": ("?", 1),
    "float64": ("d", 8),
    "uuid": ("16s", 16),
}
"""Types of fixed size: their ``struct`` format and size in bytes."""


class FunctionSource:
    """Source text of one function for one version of a message, and the names that it needs."""

    def __init__(self, spec: MessageSpec, cls: type[Message], version: int, verb: str) -> None:
        self.spec = spec
        self.version = version
        self.flexible = spec.is_flexible(version)
        self.layout: Layout = spec.layout(version)
        self.union = spec.structures()
        self.function = f"{verb}_{snake_case(spec.name)}_v{version}"
        self.names: dict[str, Any] = {}
        self.lines: list[str] = []
        self._classes = cls
        self._indent = 0

    def line(self, text: str) -> None:
        """Adds a line at the present indentation."""
        self.lines.append("    " * self._indent + text)

    def indent(self) -> None:
        """Begins the block that the last line opened."""
        self._indent += 1

    def dedent(self) -> None:
        """Ends a block."""
        self._indent -= 1

    def name(self, name: str, value: Any) -> str:
        """Makes ``value`` known to the function under ``name``."""
        known = self.names.setdefault(name, value)
        assert known is value or known == value, f"two things are called {name}"
        return name

    def structure_class(self, name: str) -> str:
        """The name under which the function knows the class of a structure."""
        cls: type[Structure] = self._classes if name == self.spec.name else getattr(self._classes, name)
        return self.name(name, cls)

    def text(self) -> str:
        """The source so far."""
        return "\n".join(self.lines) + "\n"

    def absent_fields(self, structure: StructureSpec) -> list[FieldSpec]:
        """The fields that the class has and this version's layout does not."""
        here = self.layout.structures.get(structure.name)
        present = {f.name for f in here.fields if self.version in f.versions} if here else set()
        return [f for f in self.union[structure.name].fields if f.name not in present]

    def foreign_tags(self, structure: StructureSpec) -> list[int]:
        """The tags that the structure defines in other versions only: Kafka refuses them here, known or not."""
        here = {field.tag for field in structure.tagged_fields(self.version)}
        tags = {field.tag for field in self.union[structure.name].fields if field.tag is not None}
        return sorted(tags - here)

    def compact(self, field: FieldSpec) -> bool:
        """Whether the field's length is a varint here."""
        if field.flexible_versions is not None:
            return self.version in field.flexible_versions
        return self.flexible


def least_size(source: FunctionSource, field: FieldSpec) -> int:
    """The fewest bytes that an element of the array ``field`` can have; 1 where it could have none at all.

    Kafka refuses a count above the bytes left whatever the element, which bounds elements without bytes too.
    """
    return max(1, _least(source, field.element, source.compact(field)))


def _least(source: FunctionSource, kind: str, compact: bool) -> int:
    if kind in FORMATS:
        return FORMATS[kind][1]
    if kind in ("string", "bytes", "records"):
        return 1 if compact else (2 if kind == "string" else 4)
    total = 1 if source.flexible else 0
    for field in source.layout.structures[kind].plain_fields(source.version):
        compact = source.compact(field)
        if field.is_array:
            total += 1 if compact else 4
        elif field.is_structure and field.is_nullable(source.version):
            total += 1
        else:
            total += _least(source, field.type, compact)
    return total


def default_source(source: FunctionSource, field: FieldSpec) -> str:
    """The field's default as an expression: a new value each time it is evaluated."""
    if field.default is None:
        return "None"
    if field.is_array:
        return "[]"
    if field.is_structure:
        return f"{source.structure_class(field.element)}()"
    return repr(field.default)


def has_records(layout: Layout) -> bool:
    """Whether a field of type ``records`` is in it."""
    return any(field.type == "records" for structure in layout.structures.values() for field in structure.fields)
