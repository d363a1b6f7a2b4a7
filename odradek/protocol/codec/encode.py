"""Generates the source of the functions that encode one version of a message.

Pure. Owns: the form of encoders. Never does: I/O, compiling. Invariants of a generated encoder: it raises ProtocolError
for a value that the version cannot carry, for None in a field that is not nullable, and for a number out of range; it
writes only tagged fields that differ from their default, in the order of their tags. It packs neighbouring fields of
fixed size in one call.
"""

from struct import error

from ..apis.table import FieldSpec, MessageSpec, StructureSpec
from ..errors import ProtocolError
from ..messages.structure import Message
from . import runtime
from .source import FORMATS, FunctionSource, default_source


def encode_source(spec: MessageSpec, cls: type[Message], version: int) -> FunctionSource:
    """The source of the function ``encode_<message>_v<version>(message) -> bytes``."""
    return EncoderSource(spec, cls, version, parts=False).make()


def encode_parts_source(spec: MessageSpec, cls: type[Message], version: int) -> FunctionSource:
    """The source of ``encode_parts_<message>_v<version>(message) -> list``; each ``records`` value is its own part."""
    return EncoderSource(spec, cls, version, parts=True).make()


class EncoderSource(FunctionSource):
    """Writes the source of an encoder; the subclass in :mod:`.steps` makes it a generator."""

    def __init__(
        self, spec: MessageSpec, cls: type[Message], version: int, *, parts: bool, verb: str | None = None
    ) -> None:
        super().__init__(spec, cls, version, verb or ("encode_parts" if parts else "encode"))
        self._parts = parts
        self._out = "out"
        self._pending: list[tuple[str | None, str]] = []
        """Output for which no source is written yet: (format, value) of a fixed field, or (None, bytes expression)."""
        self._variables = 0

    def make(self) -> FunctionSource:
        """Writes the source of the whole function; returns self."""
        for name, value in (("struct_error", error), ("ProtocolError", ProtocolError), ("VARINTS", runtime.VARINTS)):
            self.name(name, value)
        self.line(f"def {self.function}(message):")
        self.indent()
        if self._parts:
            self.line("parts = []")
        self.line("out = []")
        self._begin()
        self.line("try:")
        self.indent()
        self._structure(self.layout.structures[self.spec.name], "message", "", 0)
        self._flush()
        self.dedent()
        self.line("except struct_error as error:")
        self.line(f'    raise ProtocolError(f"a number is out of range: {{error}}", {self.spec.name!r}) from None')
        self.line("except UnicodeEncodeError as error:")
        self.line(f'    raise ProtocolError(f"a string cannot be encoded: {{error}}", {self.spec.name!r}) from None')
        if self._parts:
            self.line("if out:")
            self.line('    parts.append(b"".join(out))')
            self.line("return parts")
        else:
            self.line('return b"".join(out)')
        return self

    def _begin(self) -> None:
        """Hook: code at the start of an encoder."""

    def _step(self) -> None:
        """Hook: code after each element."""

    def _runtime(self, name: str) -> str:
        return self.name(name, getattr(runtime, name))

    # Pending output

    def _fixed(self, code: str, value: str) -> None:
        self._pending.append((code, value))

    def _bytes(self, expression: str) -> None:
        self._pending.append((None, expression))

    def _flush(self) -> None:
        """Writes source for the pending output; neighbouring fields of fixed size are packed in one call."""
        expressions: list[str] = []
        run: list[tuple[str, str]] = []
        for code, value in [*self._pending, (None, "")]:
            if code is not None:
                run.append((code, value))
                continue
            if run:
                codes = "".join(code for code, _ in run)
                pack = self.name(f"pack_{codes.replace('?', 'o')}", runtime.fixed_format(codes).pack)
                expressions.append(f"{pack}({', '.join(value for _, value in run)})")
                run = []
            if value:
                expressions.append(value)
        self._pending = []
        if len(expressions) == 1:
            self.line(f"{self._out}.append({expressions[0]})")
        elif expressions:
            self.line(f"{self._out} += ({', '.join(expressions)})")

    def _variable_name(self, stem: str) -> str:
        """A unique variable name: pending output may refer to the variable after other fields were written."""
        self._variables += 1
        return f"{stem}{self._variables}"

    def _length(self, compact: bool, wide: bool, length: str) -> None:
        """Adds the length in the variable ``length`` to the output; a compact one must already be one larger."""
        if compact:
            self._bytes(f"VARINTS[{length}] if {length} < 128 else {self._runtime('unsigned_varint')}({length})")
        else:
            self._fixed("i" if wide else "h", length)

    # Structures

    def _structure(self, structure: StructureSpec, value: str, path: str, depth: int) -> None:
        """Writes source that encodes the structure in the variable ``value``. May leave output pending."""
        for field in self.absent_fields(structure):
            if not field.ignorable:
                self.line(f"if {self._differs(field, f'{value}.{field.attribute}')}:")
                self.line(f"    raise {self._runtime('version_refusal')}({path + field.attribute!r}, {self.version})")
        for field in structure.plain_fields(self.version):
            self._field(field, f"{value}.{field.attribute}", f"{path}{field.attribute}", depth)
        if self.flexible:
            self._tagged_fields(structure, value, path, depth)
        else:
            self.line(f"if {value}.unknown_tagged_fields:")
            where = f"{path}unknown_tagged_fields"
            self.line(f"    raise {self._runtime('version_refusal')}({where!r}, {self.version})")

    def _differs(self, field: FieldSpec, value: str) -> str:
        """The source of a condition: the field has another value than its default."""
        if field.default is None:
            return f"{value} is not None"
        if not field.is_structure or field.is_array:
            return f"{value} != {default_source(self, field)}"
        # Compares field by field: building a structure of defaults to compare with would take ten times as long.
        inner = [self._differs(f, f"{value}.{f.attribute}") for f in self.union[field.type].fields]
        return " or ".join([f"{value} is None", *inner, f"{value}.unknown_tagged_fields"])

    def _tagged_fields(self, structure: StructureSpec, value: str, path: str, depth: int) -> None:
        known = structure.tagged_fields(self.version)
        unknown = f"{value}.unknown_tagged_fields"
        write = self._runtime("tagged_fields")
        tags_of_any_version = frozenset([*(field.tag for field in known), *self.foreign_tags(structure)])
        defined = self.name(f"DEFINED_{structure.name}", tags_of_any_version)
        if not known:
            self._bytes(f"{write}([], {unknown}, {defined}) if {unknown} else VARINTS[0]")
            return
        self._flush()
        tags = f"tags{depth}"
        self.line(f"{tags} = []")
        outer = self._out
        for field in known:
            self.line(f"if {self._differs(field, f'{value}.{field.attribute}')}:")
            self.indent()
            self._out = f"tagged{depth}"
            self.line(f"{self._out} = []")
            self._field(field, f"{value}.{field.attribute}", f"{path}{field.attribute}", depth + 1)
            self._flush()
            self.line(f'{tags}.append(({field.tag}, b"".join({self._out})))')
            self.dedent()
        self._out = outer
        self._bytes(f"{write}({tags}, {unknown}, {defined}) if {tags} or {unknown} else VARINTS[0]")
        self._flush()

    # Fields

    def _field(self, field: FieldSpec, value: str, path: str, depth: int) -> None:
        nullable = field.is_nullable(self.version)
        if field.is_array:
            self._array(field, value, path, depth, nullable)
        elif field.is_structure:
            self._nested(field, value, path, depth, nullable)
        elif field.type == "uuid":
            self.line(f"if len({value}) != {runtime.UUID_BYTES}:")
            self.line(f"    raise {self._runtime('uuid_refusal')}({path!r}, {value})")
            self._fixed("16s", value)
        elif field.type in FORMATS:
            self._fixed(FORMATS[field.type][0], value)
        else:
            self._variable(field.type, self.compact(field), nullable, value, path)

    def _nested(self, field: FieldSpec, value: str, path: str, depth: int, nullable: bool) -> None:
        structure = self.layout.structures[field.type]
        inner = self._variable_name("inner")
        self.line(f"{inner} = {value}")
        self.line(f"if {inner} is None:")
        if not nullable:
            self.line(f"    raise {self._runtime('null_refusal')}({path!r})")
            self._structure(structure, inner, f"{path}.", depth + 1)
            return
        # Null is the varint 0 in a tagged field, the byte -1 in others. 1 means not null in both.
        pending, null = self._pending, "0" if field.is_tagged(self.version) else "-1"
        self.indent()
        self._pending = [*pending, ("b", null)]
        self._flush()
        self.dedent()
        self.line("else:")
        self.indent()
        self._pending = [*pending, ("b", "1")]
        self._structure(structure, inner, f"{path}.", depth + 1)
        self._flush()
        self.dedent()

    def _variable(self, kind: str, compact: bool, nullable: bool, value: str, path: str) -> None:
        """Writes source that encodes a string, bytes or records."""
        data, size = self._variable_name("data"), self._variable_name("size")
        self.line(f"{data} = {value}")
        self.line(f"if {data} is None:")
        if nullable:
            self.line(f'    {data} = b""')
            self.line(f"    {size} = {0 if compact else -1}")
            self.line("else:")
            self.indent()
        else:
            self.line(f"    raise {self._runtime('null_refusal')}({path!r})")
        if kind == "string":
            self.line(f"{data} = {data}.encode()")
        self.line(f"{size} = len({data}){' + 1' if compact else ''}")
        if kind == "string":
            self.line(f"if {size} > {runtime.MAX_STRING_BYTES + compact}:")
            self.line(f"    raise {self._runtime('string_refusal')}({path!r}, len({data}))")
        if nullable:
            self.dedent()
        self._length(compact, kind != "string", size)
        if kind == "records" and self._parts:
            assert self._out == "out", "records in a tagged field"
            self._flush()
            self.line(f"if {size} > {int(compact)}:")
            self.line(f'    parts += (b"".join(out), {data})')
            self.line("    out = []")
        else:
            self._bytes(data)

    def _array(self, field: FieldSpec, value: str, path: str, depth: int, nullable: bool) -> None:
        compact = self.compact(field)
        items, count = self._variable_name("items"), self._variable_name("count")
        self.line(f"{items} = {value}")
        self.line(f"if {items} is None:")
        if nullable:
            self.line(f"    {items} = ()")
            self.line(f"    {count} = {0 if compact else -1}")
            self.line("else:")
            self.line(f"    {count} = len({items}){' + 1' if compact else ''}")
        else:
            self.line(f"    raise {self._runtime('null_refusal')}({path!r})")
            self.line(f"{count} = len({items}){' + 1' if compact else ''}")
        self._length(compact, True, count)
        if field.element == "uuid":
            self._bytes(f"{self._runtime('pack_uuids')}({items}, {path!r})")
        elif field.element in FORMATS:
            code = FORMATS[field.element][0]
            small = self.name(f"arrays_{code.replace('?', 'o')}", runtime.array_packers(code))
            few = f"{small}[len({items})](*{items}) if len({items}) < {runtime.SMALL_ARRAY}"
            self._bytes(f"{few} else {self._runtime('pack_array')}({code!r}, {items})")
        else:
            self._elements(field, items, path, depth)

    def _elements(self, field: FieldSpec, items: str, path: str, depth: int) -> None:
        self._flush()
        item = self._variable_name("item")
        self.line(f"for {item} in {items}:")
        self.indent()
        if field.is_structure:
            self._structure(self.layout.structures[field.element], item, f"{path}.", depth + 1)
        else:
            self._variable(field.element, self.compact(field), False, item, path)
        self._flush()
        self._step()
        self.dedent()
