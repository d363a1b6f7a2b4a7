"""Generates the source of the function that decodes one version of a message.

Pure. Owns: the form of decoders. Never does: I/O, compiling. Invariants of a generated decoder: it compares each length
or count with the bytes left before it uses it to slice or allocate; malformed bytes raise ProtocolError and nothing
else; structures are never recursive. For speed, it unpacks neighbouring fields of fixed size, with a length that
follows them, in one call, and assigns the slots of a message without calling ``__init__``. Both were measured.
"""

from codecs import utf_8_decode
from struct import error

from ..apis.table import FieldSpec, MessageSpec, StructureSpec
from ..messages.structure import Message
from . import runtime
from .source import FORMATS, FunctionSource, default_source, has_records, least_size


def decode_source(spec: MessageSpec, cls: type[Message], version: int) -> FunctionSource:
    """The source of the function ``decode_<message>_v<version>(buffer, position) -> (message, end)``."""
    return DecoderSource(spec, cls, version).make()


class DecoderSource(FunctionSource):
    """Writes the source of a decoder; the subclass in :mod:`.steps` makes it a generator."""

    def __init__(self, spec: MessageSpec, cls: type[Message], version: int, verb: str = "decode") -> None:
        super().__init__(spec, cls, version, verb)
        self._run: list[tuple[str, int, str]] = []
        """Neighbouring fields of fixed size for which no source is written yet: (format, size, target expression)."""

    def make(self) -> FunctionSource:
        """Writes the source of the whole function; returns self."""
        root = self.layout.structures[self.spec.name]
        for name, value in (("new", object.__new__), ("utf_8_decode", utf_8_decode), ("struct_error", error)):
            self.name(name, value)
        self.line(f"def {self.function}(buffer, position):")
        self.indent()
        self.line("end = len(buffer)")
        self._begin()
        if has_records(self.layout):
            self.line("view = memoryview(buffer)")
        self.line("try:")
        self.indent()
        self._structure(root, "message", "", 0)
        self._flush()
        self.dedent()
        self.line("except (IndexError, struct_error):")
        self.line(f"    raise {self._runtime('truncation')}(buffer) from None")
        self.line("except UnicodeDecodeError:")
        self.line(f"    raise {self._runtime('utf8_refusal')}(position) from None")
        self.line("return message, position")
        return self

    def _begin(self) -> None:
        """Hook: code at the start of a decoder."""

    def _step(self) -> None:
        """Hook: code after each element."""

    def _runtime(self, name: str) -> str:
        return self.name(name, getattr(runtime, name))

    # Runs of fields of fixed size

    def _fixed(self, code: str, size: int, target: str) -> None:
        self._run.append((code, size, target))

    def _flush(self) -> None:
        """Writes source that unpacks the run of fixed fields, if there is one."""
        if not self._run:
            return
        codes = "".join(code for code, _, _ in self._run)
        size = sum(size for _, size, _ in self._run)
        targets = ", ".join(target for _, _, target in self._run)
        if codes == "B":
            self.line(f"{targets} = buffer[position]")
        else:
            comma = "," if len(self._run) == 1 else ""
            name = self.name(f"unpack_{codes.replace('?', 'o')}", runtime.fixed_format(codes).unpack_from)
            self.line(f"{targets}{comma} = {name}(buffer, position)")
        self.line(f"position += {size}")
        self._run = []

    def _length(self, compact: bool, wide: bool, target: str) -> None:
        """Writes source that reads a length or count into ``target``; a compact one stays one larger than it means."""
        if not compact:
            self._fixed("i" if wide else "h", 4 if wide else 2, target)
            self._flush()
            return
        self._fixed("B", 1, target)
        self._flush()
        self.line(f"if {target} > 127:")
        self.line(f"    {target}, position = {self._runtime('read_unsigned_varint')}(buffer, position - 1)")

    # Structures

    def _structure(self, structure: StructureSpec, target: str, path: str, depth: int) -> None:
        """Writes source that reads a structure into a new object named ``target``. May leave a run to be flushed."""
        self.line(f"{target} = new({self.structure_class(structure.name)})")
        self._constants(structure, target)
        for field in structure.plain_fields(self.version):
            self._field(field, f"{target}.{field.attribute}", f"{path}{field.attribute}", depth)
        if self.flexible:
            self._tagged_fields(structure, target, path, depth)

    def _constants(self, structure: StructureSpec, target: str) -> None:
        """Writes source that sets the defaults of fields that this version lacks, and of tagged fields."""
        absent = [*self.absent_fields(structure), *structure.tagged_fields(self.version)]
        by_value: dict[str, list[str]] = {}
        for field in absent:
            value = default_source(self, field)
            key = value if not (field.is_array or field.is_structure) or value == "None" else f"{value}  # {field.name}"
            by_value.setdefault(key, []).append(f"{target}.{field.attribute}")
        if not self.flexible:
            by_value.setdefault("None", []).append(f"{target}.unknown_tagged_fields")
        for value, targets in by_value.items():
            self.line(f"{' = '.join(targets)} = {value}")

    def _tagged_fields(self, structure: StructureSpec, target: str, path: str, depth: int) -> None:
        known = structure.tagged_fields(self.version)
        self._fixed("B", 1, "count")
        self._flush()
        foreign = self.foreign_tags(structure)
        unknown = f"{target}.unknown_tagged_fields"
        self.line(f"{unknown} = None")
        self.line("if count:")
        self.indent()
        if not known and not foreign:
            self._only_unknown_tagged_fields(unknown)
            self.dedent()
            return
        self._each_tagged_field()
        tag, limit = f"tag{depth}", f"limit{depth}"
        self.line(f"{tag}, position, {limit} = {self._runtime('read_tag')}(buffer, position)")
        for field in known:
            self.line(f"if {tag} == {field.tag}:")
            self.indent()
            self._field(field, f"{target}.{field.attribute}", f"{path}{field.attribute}", depth + 1)
            self._flush()
            self.line(f"{self._runtime('check_tagged_field_end')}({tag}, position, {limit})")
            self._step()
            self.line("continue")
            self.dedent()
        if foreign:
            self.line(f"if {tag} in {tuple(foreign)}:")
            self.line(f"    raise {self._runtime('foreign_tag_refusal')}({path!r}, {tag}, {self.version})")
        self._keep_unknown_tagged_field(unknown, tag, limit)
        self.line(f"position = {limit}")
        self._step()
        self.dedent()
        self.dedent()

    def _each_tagged_field(self) -> None:
        """Opens the loop over the tagged fields; the variable ``count`` holds the first byte of their count."""
        self.line("if count > 127:")
        self.line(f"    count, position = {self._runtime('read_unsigned_varint')}(buffer, position - 1)")
        self.line(f"{self._runtime('check_tagged_field_count')}(count, position, end)")
        self.line("for _ in range(count):")
        self.indent()

    def _only_unknown_tagged_fields(self, unknown: str) -> None:
        """Writes source that reads the tagged fields of a structure that defines none."""
        read = self._runtime("read_unknown_tagged_fields")
        self.line(f"{unknown}, position = {read}(buffer, position - 1)")

    def _keep_unknown_tagged_field(self, unknown: str, tag: str, limit: str) -> None:
        self.line(f"if {unknown} is None:")
        self.line(f"    {unknown} = []")
        self.line(f"{unknown}.append(({tag}, bytes(buffer[position:{limit}])))")

    # Fields

    def _field(self, field: FieldSpec, target: str, path: str, depth: int) -> None:
        nullable = field.is_nullable(self.version)
        if field.is_array:
            self._array(field, target, path, depth, nullable)
        elif field.is_structure:
            self._nested(field, target, path, depth, nullable)
        elif field.type in FORMATS:
            self._fixed(*FORMATS[field.type], target)
        else:
            self._variable(field.type, self.compact(field), nullable, target, path)

    def _nested(self, field: FieldSpec, target: str, path: str, depth: int, nullable: bool) -> None:
        structure = self.layout.structures[field.type]
        inner = f"inner{depth + 1}"
        if not nullable:
            self._structure(structure, inner, f"{path}.", depth + 1)
            self._flush()
            self.line(f"{target} = {inner}")
            return
        if field.is_tagged(self.version):  # null is the varint 0 in a tagged field, the byte -1 in others
            self._length(compact=True, wide=True, target="marker")
            self.line("if marker == 0:")
        else:
            self._fixed("b", 1, "marker")
            self._flush()
            self.line("if marker < 0:")
        self.line(f"    {target} = None")
        self.line("else:")
        self.indent()
        self._structure(structure, inner, f"{path}.", depth + 1)
        self._flush()
        self.line(f"{target} = {inner}")
        self.dedent()

    def _variable(self, kind: str, compact: bool, nullable: bool, target: str, path: str) -> None:
        """Writes source that reads a string, bytes or records."""
        self._length(compact, kind != "string", "size")
        if compact and kind == "string":
            # Only a varint of more than one byte can be too large, so the check stands in the branch for these.
            self.line(f"    if size > {runtime.MAX_STRING_BYTES + 1}:")
            self.line(f"        raise {self._runtime('string_refusal')}({path!r}, size - 1)")
        if nullable:
            self.line("if size < 1:" if compact else "if size < 0:")
            self.line(f"    {target} = None")
            self.line("else:")
            self.indent()
        length = "size - 1" if compact else "size"
        self.line(f"stop = position + {length}")
        refusals = ["stop > end"]
        if not nullable:
            refusals.append("size < 1" if compact else "size < 0")
        self.line(f"if {' or '.join(refusals)}:")
        self.line(f"    raise {self._runtime('length_refusal')}({path!r}, {length}, end - position)")
        value = {
            "string": 'utf_8_decode(buffer[position:stop], "strict", True)[0]',
            "bytes": "bytes(buffer[position:stop])",
            "records": "view[position:stop]",
        }[kind]
        self.line(f"{target} = {value}")
        self.line("position = stop")
        if nullable:
            self.dedent()

    def _array(self, field: FieldSpec, target: str, path: str, depth: int, nullable: bool) -> None:
        compact = self.compact(field)
        self._length(compact, True, "count")
        if compact:
            self.line("count -= 1")
        if nullable:
            self.line("if count < 0:")
            self.line(f"    {target} = None")
            self.line("else:")
            self.indent()
        least = least_size(self, field)
        needed = "count" if least == 1 else f"count * {least}"
        refusals = f"{needed} > end - position" + ("" if nullable else " or count < 0")
        self.line(f"if {refusals}:")
        self.line(f"    raise {self._runtime('count_refusal')}({path!r}, count, end - position)")
        if field.element in FORMATS:
            self._fixed_elements(field, target)
        else:
            self._elements(field, target, path, depth)
        if nullable:
            self.dedent()

    def _fixed_elements(self, field: FieldSpec, target: str) -> None:
        code, size = FORMATS[field.element]
        if field.element == "uuid":
            self.line("stop = position + count * 16")
            self.line(f"{target} = [bytes(buffer[at : at + 16]) for at in range(position, stop, 16)]")
            self.line("position = stop")
            return
        small = self.name(f"arrays_{code.replace('?', 'o')}", runtime.array_unpackers(code))
        self.line(f"if count < {runtime.SMALL_ARRAY}:")
        self.line(f"    {target} = list({small}[count](buffer, position))")
        self.line("else:")
        self.line(f"    {target} = list({self._runtime('unpack_array')}({code!r}, count, buffer, position))")
        self.line(f"position += count * {size}" if size > 1 else "position += count")

    def _elements(self, field: FieldSpec, target: str, path: str, depth: int) -> None:
        items, item = f"items{depth + 1}", f"item{depth + 1}"
        self.line(f"{target} = {items} = []")
        self.line("for _ in range(count):")
        self.indent()
        if field.is_structure:
            self._structure(self.layout.structures[field.element], item, f"{path}.", depth + 1)
            self._flush()
        else:
            self._variable(field.element, self.compact(field), False, item, path)
        self.line(f"{items}.append({item})")
        self._step()
        self.dedent()
