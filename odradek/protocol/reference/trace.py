"""Records the position of each field during a parse, and limits the number of fields that it may read.

Owns: the list of notes and the limit. Never does: I/O, decoding. Invariant: notes are in the order in which their
fields begin, a parent before its children. If a parse fails, it stopped in the last field whose note has no end.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from construct import ConstructError

from ..apis.table import PRIMITIVES

LEAVES = PRIMITIVES | {"varint", "varlong"}
"""The kinds of fields without inner fields. ``varint`` and ``varlong`` occur only in records."""

START = "(parsing)."
"""The prefix that construct gives to every path."""


class TooManyFieldsError(ConstructError):
    """The traced parse met more fields than it was allowed: it stopped without knowing whether the bytes are valid."""


@dataclass(slots=True)
class Note:
    """One field met by a parse: where it lies in the bytes and what it held."""

    path: str
    """``topics[2].partitions[0].records``; empty for the message itself."""
    depth: int
    """The number of fields and array elements that enclose it."""
    kind: str
    """The type in Kafka's words: ``string``, ``[]TopicData``, ``tag 3``."""
    start: int
    """Position of its first byte."""
    content: int
    """For a field with inner fields, the position after its length or count; else the same as ``start``."""
    end: int | None = None
    """Position after its last byte; None when the parse stopped inside it."""
    value: Any = None

    @property
    def holds_others(self) -> bool:
        """Whether the field has inner fields: it is an array, a structure or the tagged fields."""
        return self.kind not in LEAVES and not self.kind.startswith("tag ")


class Trace:
    """Takes the notes of one parse; hand it to ``Struct.parse(..., trace=Trace())``."""

    __slots__ = ("_depth", "limit", "notes")

    def __init__(self, limit: int = 1_000_000) -> None:
        """``limit``: the most fields and array elements that the parse may meet before it gives up."""
        self.notes: list[Note] = []
        self.limit = limit
        self._depth = 0

    def field(self, path: str, kind: str, tell: Callable[[], int], parse: Callable[[], Any]) -> Any:
        """Runs ``parse`` and notes where it started and ended; raises TooManyFieldsError beyond the limit."""
        if len(self.notes) >= self.limit:
            raise TooManyFieldsError(f"more than {self.limit} fields", path=path)
        start = tell()
        note = Note(path.removeprefix(START), self._depth, kind, start, start)
        self.notes.append(note)
        self._depth += 1
        value = parse()
        self._depth -= 1
        note.end, note.value = tell(), value
        return value

    def content_starts(self, path: str, position: int) -> None:
        """Notes that the length or count of the container at ``path`` has been read and its content starts here."""
        if self.notes and self.notes[-1].path == path.removeprefix(START):
            self.notes[-1].content = position
