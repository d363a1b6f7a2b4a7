"""What a dump finds, before it is printed: one event for each line.

Pure. Two renderers take them: `text_lines` in the words of Kafka's tool, `json_documents`.
"""

from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from ...protocol.records.batch import BatchHeader
from ...protocol.records.control import ControlRecordType
from ...protocol.records.record import Record
from .decoders import Decoded, Typed

if TYPE_CHECKING:
    from ...protocol.reference.trace import Note


class FileStart(NamedTuple):
    """A file's dump begins; `heading` is the second line, empty for kinds without one."""

    path: str
    kind: str
    heading: str
    facts: dict[str, Any]
    """What the name says: offsets and epochs, for JSON."""


class BatchLine(NamedTuple):
    """A batch of a log or snapshot."""

    position: int
    header: BatchHeader
    is_valid: bool


class Control(NamedTuple):
    """What a control record says: the marker's coordinator epoch, or one of KRaft's messages."""

    type: ControlRecordType
    type_id: int
    coordinator_epoch: int | None
    message: Typed | None


class RecordLine(NamedTuple):
    """A record inside the batch before it; decoded only when its content is to be printed."""

    batch: BatchHeader
    record: Record
    control: Control | None
    decoded: Decoded | None


class EntryLine(NamedTuple):
    """An entry of an index or producer snapshot."""

    text: str
    fields: dict[str, Any]


class ByteRows(NamedTuple):
    """Which bytes of what came before are which field (``--bytes``)."""

    notes: "list[Note]"
    """Places count from the beginning of ``data``."""
    data: bytes
    at: int
    """Where ``data`` begins in the file."""
    where: str
    """Empty for bytes of the file, ``decompressed`` for those that were compressed there."""


class Remark(NamedTuple):
    """A line about the file that is printed among the others: empty, sane, invalid bytes at the end."""

    text: str


class DumpFinding(NamedTuple):
    """Something that is not as it should be."""

    path: Path
    position: int | None
    """The byte in the file, where one is to blame."""
    what: str
    """What was expected and what is there."""
    is_corrupt: bool = True
    """Whether data or an index is damaged; else it is worth knowing only, as a gap that compaction left."""
    kafka: tuple[str, str] | None = None
    """The heading and the line under which Kafka's tool names it at the end, where it does."""


Event = FileStart | BatchLine | RecordLine | EntryLine | ByteRows | Remark | DumpFinding
