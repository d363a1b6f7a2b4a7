"""The records of a topic: browse, search and tail; one record whole; the headers of batches.

Invariants: a look reads at most a number of bytes, then says how far it came and where the next one goes on. Records of
one partition come in the order of their offsets; those of several are merged by their time, and the answer says so.
"""

from collections.abc import AsyncGenerator, Iterator
from heapq import merge

from odradek.client.errors import broker_error
from odradek.client.types import TopicPartition
from odradek.protocol.errors import ErrorCode
from odradek.protocol.records.batch import crc_of, iterate_headers

from ..arguments import BadArgument, ConsoleError, ViewArguments
from ..context import Attachment, Context, Json
from .places import MOST_PARTITIONS, LookPlace, bounds_of, cursor_of, partition_in, place_of
from .reading import READ_UNCOMMITTED, Looked, LookReader, fetch, fetch_new
from .record_walk import EVERYTHING, PARTS, Fetched, FoundRecord, Needle, batch_row, entries, needle_of, next_offset

MOST_ROWS = 200
BROWSE_BYTES = 32 << 20
"""The bytes that one page of records may read."""
SEARCH_BYTES = 1 << 30
"""The bytes after which a search stops by itself, and can be resumed."""
TAIL_WAIT_MS = 1_000
MOST_BATCHES = 200


def summary(looked: Looked, place: LookPlace, *, is_finished: bool) -> dict[str, Json]:
    """How far a look came, and where the next one goes on."""
    readers = place.readers
    return {
        "records": str(looked.records),
        "bytes": str(looked.bytes),
        "partitions": len(readers),
        "allPartitions": place.partitions,
        "leftOut": place.left_out,
        "offsets": [
            {
                "partition": reader.partition.partition,
                "position": str(reader.position),
                "start": str(reader.bounds.start),
                "end": str(reader.bounds.end),
                "stable": str(reader.bounds.stable),
            }
            for reader in readers[:50]
        ],
        "cursor": cursor_of(readers),
        "isFinished": is_finished,
    }


async def browse(context: Context, arguments: ViewArguments) -> Json:
    """One page of records: from an offset, a time, the start or the end, forward or backward."""
    looked = Looked()
    is_backward = _is_backward(arguments)
    place = await _place(context, arguments, looked, is_backward=is_backward)
    limit = arguments.number("limit", 50, 1, MOST_ROWS)
    found = {reader: await _fill(reader, limit, is_backward, looked) for reader in place.readers}
    rows = _merged(found, limit, is_backward)
    is_finished = all(
        reader.position <= reader.bounds.start if is_backward else reader.position >= reader.bounds.end
        for reader in place.readers
    )
    return {
        "rows": [entry.row() for entry in rows],
        "order": "offset" if len(place.readers) < 2 else "time",
        **summary(looked, place, is_finished=is_finished),
    }


async def _fill(reader: LookReader, limit: int, is_backward: bool, looked: Looked) -> list[FoundRecord]:
    """Entries of one partition: at least ``limit``, or all that are left, or what the bytes of a page allow."""
    found: list[FoundRecord] = []
    while len(found) < limit and looked.bytes < BROWSE_BYTES:
        piece = await (reader.backward() if is_backward else reader.forward())
        found += piece.entries
        if piece.is_last:
            break
    return found


def _merged(found: dict[LookReader, list[FoundRecord]], limit: int, is_backward: bool) -> list[FoundRecord]:
    """The first ``limit`` entries by time. Sets each reader to after the last of its entries that is taken."""
    sign = -1 if is_backward else 1

    def keyed(reader: LookReader) -> Iterator[tuple[tuple[int, int, int], FoundRecord, LookReader]]:
        for entry in found[reader]:
            yield (sign * entry.timestamp, sign * entry.partition, sign * entry.offset), entry, reader

    taken: list[FoundRecord] = []
    last: dict[LookReader, FoundRecord] = {}
    left: dict[LookReader, FoundRecord] = {}
    for _, entry, reader in merge(*map(keyed, found), key=lambda item: item[0]):
        if len(taken) < limit:
            taken.append(entry)
            last[reader] = entry
        else:
            left.setdefault(reader, entry)
            if len(left) == len(found):
                break
    for reader, entry in left.items():
        reader.position = entry.offset + is_backward
    return taken


async def search(context: Context, arguments: ViewArguments) -> AsyncGenerator[Json, None]:
    """A stream of matches and of how far the search came; the last value has ``isDone``."""
    looked = Looked()
    is_backward = _is_backward(arguments)
    needle = _needle(arguments)
    place = await _place(context, arguments, looked, is_backward=is_backward)
    limit = arguments.number("limit", 50, 1, MOST_ROWS)
    open_readers = list(place.readers)
    matches = 0
    while open_readers and matches < limit and looked.bytes < SEARCH_BYTES:
        reader = open_readers.pop(0)
        piece = await (reader.backward() if is_backward else reader.forward())
        rows: list[Json] = []
        for entry in piece.entries:
            if needle.finds(entry):
                rows.append(entry.row())
                if matches + len(rows) == limit:
                    reader.position = entry.offset + (not is_backward)
                    break
        matches += len(rows)
        if not piece.is_last:
            open_readers.append(reader)
        yield {"rows": rows, "isDone": False, **summary(looked, place, is_finished=False)}
    is_finished = not open_readers and matches < limit
    yield {"rows": [], "isDone": True, **summary(looked, place, is_finished=is_finished)}


async def tail(context: Context, arguments: ViewArguments) -> AsyncGenerator[Json, None]:
    """A stream of the records that are written from now on; a value without rows once a second of silence."""
    looked = Looked()
    needle = _needle(arguments)
    place = await _place(context, arguments, looked, is_backward=False, start="latest", is_tail=True)
    positions = {reader.partition: reader.position for reader in place.readers}
    at = 0
    while True:
        leaders = await _by_leader(context, positions)
        wait_ms = TAIL_WAIT_MS // len(leaders)
        leader = sorted(leaders)[at % len(leaders)]
        at += 1
        rows: list[Json] = []
        for partition, data in await fetch_new(context.cluster, leader, leaders[leader], wait_ms):
            if data.error_code in (ErrorCode.OFFSET_OUT_OF_RANGE,):
                positions[partition] = max(data.log_start_offset, 0)
                continue
            if data.error_code:
                await _check(context, partition, data.error_code)
                continue
            answer = Fetched(bytes(data.records or b""), (), is_stable=False)
            start = positions[partition]
            positions[partition] = next_offset(answer, start)
            found = list(entries(partition.partition, answer, start, positions[partition]))
            looked.bytes += len(answer.data)
            looked.records += len(found)
            rows += [entry.row() for entry in found if needle.finds(entry)]
        for reader in place.readers:
            reader.position = positions[reader.partition]
        dropped = max(0, len(rows) - MOST_ROWS)
        yield {
            **summary(looked, place._replace(readers=place.readers[:MOST_PARTITIONS]), is_finished=False),
            "rows": rows[dropped:],
            "dropped": dropped,
            "isDone": False,
            "partitions": len(place.readers),
        }


async def _check(context: Context, partition: TopicPartition, code: int) -> None:
    """Asks the metadata again after an error that passes. Raises KafkaError for any other."""
    error = broker_error(code, str(partition))
    if not error.error_code.retriable:
        raise error
    await context.cluster.refresh({partition.topic})


async def _by_leader(context: Context, positions: dict[TopicPartition, int]) -> dict[int, dict[TopicPartition, int]]:
    found: dict[int, dict[TopicPartition, int]] = {}
    for partition, offset in positions.items():
        found.setdefault(await context.cluster.leader(*partition), {})[partition] = offset
    return found


async def one_record(context: Context, arguments: ViewArguments) -> Json:
    """One record with its whole key, value and headers (up to 64 KiB each), and its batch."""
    return (await _entry(context, arguments)).detail()


async def download(context: Context, arguments: ViewArguments) -> Attachment:
    """All bytes of a record's key or value. Raises ConsoleError 404 if it is null."""
    entry = await _entry(context, arguments)
    part = arguments.choice("part", "value", ("key", "value"))
    data = entry.key if part == "key" else entry.value
    if data is None:
        raise ConsoleError(404, f"the {part} is null")
    return Attachment(f"{arguments.text('topic')}-{entry.partition}-{entry.offset}.{part}", data)


async def _entry(context: Context, arguments: ViewArguments) -> FoundRecord:
    partition, offset = partition_in(arguments), arguments.number("offset", None, 0, 2**63 - 1)
    bounds = (await bounds_of(context.admin, partition.topic, [partition.partition]))[partition.partition]
    if bounds.start <= offset < bounds.end:
        reader = LookReader(context.cluster, partition, bounds._replace(end=offset + 1), offset, Looked())
        for entry in (await reader.forward()).entries:
            if entry.offset == offset:
                return entry
    raise ConsoleError(404, f"{partition} has no record at offset {offset}: it has {bounds.start} to {bounds.end - 1}")


async def batches(context: Context, arguments: ViewArguments) -> Json:
    """The headers of the batches from an offset on, as they are stored: works against any Kafka."""
    partition = partition_in(arguments)
    bounds = (await bounds_of(context.admin, partition.topic, [partition.partition]))[partition.partition]
    start = max(arguments.number("from", bounds.start, 0, 2**63 - 1), bounds.start)
    limit = arguments.number("limit", 50, 1, MOST_BATCHES)
    rows: list[Json] = []
    at, looked = start, Looked()
    while at < bounds.end and len(rows) < limit and looked.bytes < BROWSE_BYTES:
        data = bytes((await fetch(context.cluster, partition, at, READ_UNCOMMITTED)).records or b"")
        looked.bytes += len(data)
        before = at
        for position, header in iterate_headers(data):
            if len(rows) < limit:
                rows.append(batch_row(position, header, crc_of(data, position, header) == header.crc))
                at = header.next_offset
        if at == before:
            break
    return {
        "rows": rows,
        "bytes": str(looked.bytes),
        "start": str(bounds.start),
        "end": str(bounds.end),
        "stable": str(bounds.stable),
        "next": str(at) if at < bounds.end else None,
    }


def _is_backward(arguments: ViewArguments) -> bool:
    return arguments.choice("direction", "forward", ("forward", "backward")) == "backward"


def _needle(arguments: ViewArguments) -> Needle:
    text = arguments.text("text", "")
    parts = tuple(arguments.items("in")) or PARTS
    if any(part not in PARTS for part in parts):
        raise BadArgument("in", f"is any of {', '.join(PARTS)}")
    return needle_of(text, parts, matches_case=arguments.flag("case")) if text else EVERYTHING


async def _place(
    context: Context,
    arguments: ViewArguments,
    looked: Looked,
    *,
    is_backward: bool,
    start: str | None = None,
    is_tail: bool = False,
) -> LookPlace:
    numbers = arguments.items("partitions", MOST_PARTITIONS)
    if not all(number.isdigit() and len(number) < 11 for number in numbers):
        raise BadArgument("partitions", "are numbers")
    return await place_of(
        context.admin,
        context.cluster,
        arguments.text("topic"),
        [int(number) for number in numbers],
        looked,
        start=start or arguments.text("start", "latest" if is_backward else "earliest"),
        cursor=arguments.text("cursor", ""),
        is_backward=is_backward,
        keeps_empty=is_tail,
    )
