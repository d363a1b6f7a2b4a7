"""The kinds of answers with which a leader that is broken or lies can answer a follower.

Owns: the table of kinds. A kind changes an honest answer; what it does not change stays as it was.
"""

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from struct import pack

from odradek.protocol.errors import ErrorCode
from odradek.protocol.messages.fetch import FetchResponse
from odradek.protocol.messages.offsets import ListOffsetsResponse
from odradek.protocol.records.builder import BatchBuilder
from odradek.protocol.records.checksum import crc32c

NOW_MS = 1_700_000_000_000
EPOCH = 3
LAST = 2**63 - 1
PartitionData = FetchResponse.PartitionData
TopicResponse = FetchResponse.FetchableTopicResponse
ListedTopic = ListOffsetsResponse.ListOffsetsTopicResponse
Listed = ListOffsetsResponse.ListOffsetsPartitionResponse


def batch(offset: int, value: bytes = b"value", epoch: int = EPOCH) -> bytes:
    """A batch of one record."""
    builder = BatchBuilder(partition_leader_epoch=epoch)
    builder.append(NOW_MS, None, value)
    builder.move_to(offset)
    return bytes(builder.build())


@dataclass(frozen=True)
class Records:
    """Other bytes in place of the records. ``bytes_at`` gets the offset that was requested."""

    bytes_at: Callable[[int], bytes]
    is_stored: bool = False
    """Whether a follower must store these bytes, because nothing in them is wrong: the copy then differs."""


@dataclass(frozen=True)
class Part:
    """A change of the answer for one partition."""

    change: Callable[[PartitionData], object]
    is_stored: bool = False
    """Whether the copy may lose records, as when a leader says that its log ends earlier."""


@dataclass(frozen=True)
class Offsets:
    """OFFSET_OUT_OF_RANGE, then this change of the answer to ListOffsets; None: the connection closes."""

    change: Callable[[ListOffsetsResponse], object] | None
    is_stored: bool = False


@dataclass(frozen=True)
class Whole:
    """A change of the whole answer."""

    change: Callable[[FetchResponse], object]


@dataclass(frozen=True)
class Frame:
    """A change of the encoded answer, with its size. None: the connection closes after ``raw``."""

    change: Callable[[bytes], bytes] | None
    raw: bytes = b""


Kind = Records | Part | Offsets | Whole | Frame


def patched(data: bytes, position: int, layout: str, value: int, *, signs: bool = False) -> bytes:
    """Bytes with another number at a position; ``signs``: with a right CRC."""
    changed = bytearray(data)
    field = pack(layout, value)
    changed[position : position + len(field)] = field
    if signs:
        changed[17:21] = pack(">I", crc32c(bytes(changed[21:])))
    return bytes(changed)


def noise(seed: int, size: int) -> bytes:
    """Random bytes."""
    return random.Random(seed).randbytes(size)


def old_message(offset: int, magic: int) -> bytes:
    """A message of format 0 or 1 with a wrong CRC."""
    body = pack(">Bb", magic, 0) + (pack(">q", NOW_MS) if magic else b"") + pack(">ii", -1, 5) + b"value"
    return pack(">qi", offset, len(body) + 4) + pack(">I", 12345) + body


def _set(name: str, value: object) -> Callable[[PartitionData], object]:
    return lambda data: setattr(data, name, value)


def _diverging(epoch: int, end_offset: int) -> Part:
    return Part(
        lambda data: setattr(data, "diverging_epoch", FetchResponse.EpochEndOffset(epoch, end_offset)), end_offset >= 0
    )


def _listed(*offsets: int) -> Callable[[ListOffsetsResponse], object]:
    """The first answer has the first offset, the answer for the log's end the second one."""

    def change(response: ListOffsetsResponse) -> None:
        one = response.topics[0].partitions[0]
        one.offset = offsets[0] if one.timestamp == -2 else offsets[1]

    return change


def _swap(data: PartitionData) -> None:
    data.records = batch(1) + batch(0)


def _noise(size: int) -> Records:
    return Records(lambda offset: noise(size, size))


def _patch(position: int, layout: str, value: int) -> Records:
    return Records(lambda offset: patched(batch(offset), position, layout, value))


def _whole_error(code: int) -> Whole:
    return Whole(lambda answer: setattr(answer, "error_code", code))


RECORDS: dict[str, Records] = {
    **{f"random-{size}": _noise(size) for size in (1, 16, 17, 60, 61, 200, 5000)},
    "zeros": Records(lambda offset: bytes(100)),
    "ones": Records(lambda offset: b"\xff" * 100),
    **{f"length-{length}": _patch(8, ">i", length) for length in (0, -1, 20, 48, 49, 2**31 - 1, -(2**31))},
    "length-one-more": Records(lambda offset: patched(batch(offset), 8, ">i", len(batch(offset)) - 11) + b"\0"),
    "length-one-less": Records(lambda offset: patched(batch(offset), 8, ">i", len(batch(offset)) - 13)),
    "magic-0": Records(lambda offset: old_message(offset, 0)),
    "magic-1": Records(lambda offset: old_message(offset, 1)),
    **{f"magic-byte-{magic}": _patch(16, ">B", magic) for magic in (0, 1, 3, 9, 255)},
    "crc": Records(lambda offset: patched(batch(offset), 17, ">I", 7)),
    "a-record's-byte": Records(lambda offset: batch(offset)[:-1] + b"!"),
    "last-offset-delta--1": Records(lambda offset: patched(batch(offset), 23, ">i", -1, signs=True)),
    "last-offset-delta-lowest": Records(lambda offset: patched(batch(offset), 23, ">i", -(2**31), signs=True)),
    "base-offset--1": Records(lambda offset: patched(batch(offset), 0, ">q", -1)),
    "base-offset-lowest": Records(lambda offset: patched(batch(offset), 0, ">q", -(2**63))),
    "base-offset-last": Records(lambda offset: patched(batch(offset), 0, ">q", LAST)),
    "ends-after-the-last-offset": Records(
        lambda offset: patched(patched(batch(offset), 23, ">i", 9, signs=True), 0, ">q", LAST - 9)
    ),
    "ends-at-the-last-offset": Records(lambda offset: patched(batch(offset), 0, ">q", LAST - 1), is_stored=True),
    "far-offset": Records(lambda offset: patched(batch(offset), 0, ">q", 2**62), is_stored=True),
    "earlier-offset": Records(lambda offset: patched(batch(offset), 0, ">q", offset - 1)),
    "good-then-garbage": Records(lambda offset: batch(offset) + noise(1, 200)),
    "good-then-length-0": Records(lambda offset: batch(offset) + patched(batch(offset + 1), 8, ">i", 0)),
    "good-then-magic-9": Records(lambda offset: batch(offset) + patched(batch(offset + 1), 16, ">B", 9)),
    "good-then-magic-1": Records(lambda offset: batch(offset) + old_message(offset + 1, 1)),
    "good-then-wrong-crc": Records(lambda offset: batch(offset) + patched(batch(offset + 1), 17, ">I", 7)),
    "wrong-order": Records(lambda offset: batch(offset + 1) + batch(offset)),
    "twice": Records(lambda offset: batch(offset) * 2),
    "garbled-marker": Records(lambda offset: patched(patched(batch(offset), 43, ">q", 5), 21, ">h", 0x30, signs=True)),
    "later-epoch": Records(lambda offset: batch(offset, epoch=EPOCH + 1)),
    "latest-epoch": Records(lambda offset: batch(offset, epoch=2**31 - 1)),
    "negative-epoch": Records(lambda offset: batch(offset, epoch=-5), is_stored=True),
    "count-of-records": Records(lambda offset: patched(batch(offset), 57, ">i", -1, signs=True), is_stored=True),
    "unknown-codec": Records(lambda offset: patched(batch(offset), 21, ">h", 7, signs=True), is_stored=True),
    "latest-timestamps": Records(lambda offset: patched(batch(offset), 35, ">q", LAST, signs=True), is_stored=True),
    "incomplete": Records(lambda offset: batch(offset)[:-1]),
}
PARTS: dict[str, Part] = {
    **{f"error-{code}": Part(_set("error_code", code)) for code in (-1, 2, 3, 6, 56, 76, 100, 999, -77, 32767)},
    **{f"high-watermark-{value}": Part(_set("high_watermark", value)) for value in (-2, -(2**63), LAST)},
    **{f"log-start-{value}": Part(_set("log_start_offset", value)) for value in (-2, -(2**63), LAST)},
    "diverging-without-end": _diverging(EPOCH, -1),
    "diverging-lowest-end": _diverging(0, -(2**63)),
    "diverging-beyond-the-copy": _diverging(2**31 - 1, LAST),
    "diverging-at-0": _diverging(EPOCH, 0),
    "diverging-epoch-0": _diverging(0, 2**62),
    "no-records-though-there-are": Part(_set("records", b"")),
    "wrong-order-of-batches": Part(_swap),
}
OFFSETS: dict[str, Offsets] = {
    "no-topics": Offsets(lambda response: response.topics.clear()),
    "no-partitions": Offsets(lambda response: response.topics[0].partitions.clear()),
    "two-partitions": Offsets(lambda response: response.topics[0].partitions.append(Listed(0, offset=4))),
    "another-partition": Offsets(lambda response: setattr(response.topics[0].partitions[0], "partition_index", 8)),
    "another-topic": Offsets(lambda response: setattr(response.topics[0], "name", "other")),
    "two-topics": Offsets(lambda response: response.topics.append(ListedTopic("other", [Listed(0)]))),
    "an-error": Offsets(lambda response: setattr(response.topics[0].partitions[0], "error_code", 6)),
    "no-offsets": Offsets(_listed(-1, -1)),
    "negative-offsets": Offsets(_listed(-(2**63), -(2**63))),
    "end-before-start": Offsets(_listed(900, 3)),
    "in-range": Offsets(_listed(0, 900)),
    "last-offset": Offsets(_listed(LAST, LAST), is_stored=True),
    "later-start": Offsets(_listed(2**62, LAST), is_stored=True),
    "empty": Offsets(_listed(0, 0), is_stored=True),
    "closed": Offsets(None),
}
OTHER_ANSWER = TopicResponse("", bytes(range(16)), [PartitionData()])
WHOLE: dict[str, Whole] = {
    "an-unknown-topic": Whole(lambda answer: answer.responses.append(OTHER_ANSWER)),
    "an-unknown-partition": Whole(lambda answer: answer.responses[0].partitions.append(PartitionData(9))),
    "nothing": Whole(lambda answer: answer.responses.clear()),
    "a-missing-topic": Whole(lambda answer: answer.responses.pop()),
    "a-topic-twice": Whole(lambda answer: answer.responses.append(answer.responses[0])),
    **{f"error-{code}": _whole_error(code) for code in (70, 71, 999)},
    "negative-session": Whole(lambda answer: setattr(answer, "session_id", -9)),
}
FRAMES: dict[str, Frame] = {
    "nothing": Frame(None),
    "http": Frame(None, b"HTTP/1.1 400 Bad Request\r\n\r\n"),
    "negative-size": Frame(lambda frame: pack(">i", -1) + frame[4:]),
    "largest-size": Frame(lambda frame: pack(">i", 2**31 - 1) + frame[4:]),
    "size-0": Frame(lambda frame: pack(">i", 0)),
    "size-3": Frame(lambda frame: pack(">i", 3) + frame[4:7]),
    "only-the-header": Frame(lambda frame: pack(">i", 5) + frame[4:9]),
    "cut": Frame(lambda frame: pack(">i", len(frame) - 14) + frame[4:-10]),
    "longer": Frame(lambda frame: pack(">i", len(frame) + 6) + frame[4:] + bytes(10)),
    "twice": Frame(lambda frame: frame * 2),
    "another-correlation-id": Frame(lambda frame: frame[:4] + pack(">i", 77) + frame[8:]),
    "random-body": Frame(lambda frame: frame[:9] + noise(5, len(frame) - 9)),
    "endless-varint": Frame(lambda frame: frame[:9] + b"\xff" * (len(frame) - 9)),
    "2^32-topics": Frame(lambda frame: pack(">i", 24) + frame[4:19] + b"\xff\xff\xff\xff\x0f" + bytes(4)),
}
GROUPS: dict[str, Mapping[str, Kind]] = {
    "records": RECORDS,
    "part": PARTS,
    "offsets": OFFSETS,
    "whole": WHOLE,
    "frame": FRAMES,
}
KINDS = {f"{group}-{name}": kind for group, kinds in GROUPS.items() for name, kind in kinds.items()}
OUT_OF_RANGE = int(ErrorCode.OFFSET_OUT_OF_RANGE)
