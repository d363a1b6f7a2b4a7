"""Generates the source of decoders and encoders that are generators: they yield every STEP_ELEMENTS elements.

Pure. Owns: their differences from the plain functions. Never does: I/O, compiling. Invariants of a generated function:
a step handles at most STEP_ELEMENTS elements (structures, strings, tagged fields) or NUMBERS_A_STEP numbers of an
array; the results are those of the plain functions, except that the decoder skips unknown tagged fields. No request
handler reads them, and a frame could hold one in every three bytes.

A step of 64 elements takes 50 to 200 us. Counting the elements takes 30 ns for each.
"""

from ..apis.table import FieldSpec, MessageSpec
from ..messages.structure import Message
from .decode import DecoderSource
from .encode import EncoderSource
from .source import FORMATS, FunctionSource

STEP_ELEMENTS = 64
NUMBERS_A_STEP = 4096


def decode_steps_source(spec: MessageSpec, cls: type[Message], version: int) -> FunctionSource:
    """The source of the generator ``decode_steps_<message>_v<version>(buffer, position) -> (message, end)``."""
    return _StepDecoderSource(spec, cls, version, "decode_steps").make()


def encode_steps_source(spec: MessageSpec, cls: type[Message], version: int) -> FunctionSource:
    """The source of the generator ``encode_steps_<message>_v<version>(message) -> parts``; see :func:`encode_parts`."""
    return _StepEncoderSource(spec, cls, version, parts=True, verb="encode_steps").make()


class _StepDecoderSource(DecoderSource):
    def _begin(self) -> None:
        begin_steps(self)

    def _step(self) -> None:
        count_step(self)

    def _only_unknown_tagged_fields(self, unknown: str) -> None:
        self._each_tagged_field()
        self.line(f"_, _, position = {self._runtime('read_tag')}(buffer, position)")
        self._step()
        self.dedent()

    def _keep_unknown_tagged_field(self, unknown: str, tag: str, limit: str) -> None:
        pass

    def _fixed_elements(self, field: FieldSpec, target: str) -> None:
        if field.element == "uuid":
            self.line(f"{target} = []")
            self.line("for _ in range(count):")
            self.line(f"    {target}.append(bytes(buffer[position : position + 16]))")
            self.line("    position += 16")
            self.indent()
            self._step()
            self.dedent()
            return
        code, size = FORMATS[field.element]
        self.line(f"{target} = []")
        self.line("while count > 0:")
        self.indent()
        self.line(f"portion = min(count, {NUMBERS_A_STEP})")
        self.line(f"{target} += {self._runtime('unpack_array')}({code!r}, portion, buffer, position)")
        self.line(f"position += portion * {size}")
        self.line("count -= portion")
        self.line("if count:")
        self.line("    yield")
        self.dedent()


class _StepEncoderSource(EncoderSource):
    def _begin(self) -> None:
        self.line("end = 0")
        begin_steps(self)

    def _step(self) -> None:
        self.line("left -= 1")
        self.line("if not left:")
        self.line(f"    left = {STEP_ELEMENTS}")
        if self._out == "out":
            self.line('    parts.append(b"".join(out))')
            self.line("    out = []")
        self.line("    yield")


def begin_steps(source: FunctionSource) -> None:
    """Writes source that sets up the count. Its unreachable ``yield`` makes the function a generator in any case."""
    source.line(f"left = {STEP_ELEMENTS}")
    source.line("if end < 0:")
    source.line("    yield")


def count_step(source: FunctionSource) -> None:
    """Writes source that counts an element, and yields after every STEP_ELEMENTS-th."""
    source.line("left -= 1")
    source.line("if not left:")
    source.line(f"    left = {STEP_ELEMENTS}")
    source.line("    yield")
