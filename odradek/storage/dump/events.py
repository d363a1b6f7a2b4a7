"""The results of a dump before they are printed: one event for each line.

Pure. Two modules render them: `text_lines` as Kafka's tool does, and `json_documents`.
"""

from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from odradek.protocol.records.batch import BatchHeader
from odradek.protocol.records.control import ControlRecordType
from odradek.protocol.records.record import Record

from .decoders import Decoded, Typed

if TYPE_CHECKING:
    from odradek.protocol.reference.trace import Note


class FileStart(NamedTuple):
    """The beginning of a file's dump. `heading` is the second line; empty if its kind has none."""

    path: str
    kind: str
    heading: str
    facts: dict[str, Any]
    """Offsets and epochs from the file's name, for JSON."""


class BatchLine(NamedTuple):
    """A batch of a log or snapshot."""

    position: int
    header: BatchHeader
    is_valid: bool


class Control(NamedTuple):
    """The content of a control record: a marker with its coordinator epoch, or one of KRaft's messages."""

    type: ControlRecordType
    type_id: int
    coordinator_epoch: int | None
    message: Typed | None


class RecordLine(NamedTuple):
    """A record of the batch before it. It is decoded only if its content is printed."""

    batch: BatchHeader
    record: Record
    control: Control | None
    decoded: Decoded | None
    checksum: tuple[int, bool] | None = None
    """For message formats 0 and 1, whose messages have a CRC each: the CRC, and whether it is right."""


class EntryLine(NamedTuple):
    """An entry of an index or producer snapshot."""

    text: str
    fields: dict[str, Any]


class ByteRows(NamedTuple):
    """The fields of the previous event with their bytes (``--bytes``)."""

    notes: "list[Note]"
    """The fields, with positions from the beginning of ``data``."""
    data: bytes
    at: int
    """The position of ``data`` in the file."""
    where: str
    """Empty for bytes of the file, ``decompressed`` for decompressed bytes."""


class Remark(NamedTuple):
    """A line about the file among the others: it is empty, is sane, or has invalid bytes at its end."""

    text: str


class DumpFinding(NamedTuple):
    """A problem in a file."""

    path: Path
    position: int | None
    """The bad byte in the file, if there is one."""
    what: str
    """The expected and the actual content."""
    is_corrupt: bool = True
    """Whether data or an index is damaged. If not, it is only worth knowing, such as a gap that compaction left."""
    kafka: tuple[str, str] | None = None
    """The heading and the line with which Kafka's tool reports it at the end, if it does."""
    is_torn: bool = False
    """Whether an append that was not completed explains the damage, if it is at the end of the log."""


Event = FileStart | BatchLine | RecordLine | EntryLine | ByteRows | Remark | DumpFinding
