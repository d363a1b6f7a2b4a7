"""The base of the modules that generate codecs: wire formats of fixed size, least sizes, and the source text.

Pure. Owns: the lines of source written so far. Never does: I/O, compiling.
"""

from typing import Any, Final

from ..apis.table import FieldSpec, Layout, MessageSpec, StructureSpec, snake_case
from ..messages.structure import Message, Structure

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
    """The source text of one function for one version of a message, and the global names that it uses."""

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
        """Adds a line at the current indentation."""
        self.lines.append("    " * self._indent + text)

    def indent(self) -> None:
        """Begins the block that the last line opened."""
        self._indent += 1

    def dedent(self) -> None:
        """Ends a block."""
        self._indent -= 1

    def name(self, name: str, value: Any) -> str:
        """Makes ``value`` a global of the function under ``name``; returns ``name``."""
        known = self.names.setdefault(name, value)
        assert known is value or known == value, f"two things are called {name}"
        return name

    def structure_class(self, name: str) -> str:
        """Makes the class of a structure a global of the function; returns its name there."""
        cls: type[Structure] = self._classes if name == self.spec.name else getattr(self._classes, name)
        return self.name(name, cls)

    def text(self) -> str:
        """The source text."""
        return "\n".join(self.lines) + "\n"

    def absent_fields(self, structure: StructureSpec) -> list[FieldSpec]:
        """The fields that the class has and this version's layout does not."""
        here = self.layout.structures.get(structure.name)
        present = {f.name for f in here.fields if self.version in f.versions} if here else set()
        return [f for f in self.union[structure.name].fields if f.name not in present]

    def foreign_tags(self, structure: StructureSpec) -> list[int]:
        """The tags that the structure defines only in other versions. Kafka refuses them in this one."""
        here = {field.tag for field in structure.tagged_fields(self.version)}
        tags = {field.tag for field in self.union[structure.name].fields if field.tag is not None}
        return sorted(tags - here)

    def compact(self, field: FieldSpec) -> bool:
        """Whether the field's length is a varint in this version (compact form)."""
        if field.flexible_versions is not None:
            return self.version in field.flexible_versions
        return self.flexible


def least_size(source: FunctionSource, field: FieldSpec) -> int:
    """The smallest size of an element of the array ``field`` in bytes, at least 1.

    It is 1 also for elements that may have no bytes: Kafka refuses any count greater than the bytes left.
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
    """The source of an expression for the field's default; each evaluation creates a new list or structure."""
    if field.default is None:
        return "None"
    if field.is_array:
        return "[]"
    if field.is_structure:
        return f"{source.structure_class(field.element)}()"
    return repr(field.default)


def has_records(layout: Layout) -> bool:
    """Whether a structure of the layout has a field of type ``records``."""
    return any(field.type == "records" for structure in layout.structures.values() for field in structure.fields)
