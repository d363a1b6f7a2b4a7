"""Produces a record: a new one, or one that was shown and edited."""

from odradek.client.producer import Producer
from odradek.client.types import Header

from ..arguments import BadArgument, ViewArguments
from ..context import CLIENT_ID, Context, Json
from .plan import ActionPlan, carried_out, command, piped

MOST_HEADERS = 100
MOST_BYTES = 8 << 20
DELIVERY_MS = 30_000


async def produce(context: Context, arguments: ViewArguments) -> Json:
    """Produces one record with acks=all."""
    topic = arguments.text("topic")
    partition = arguments.number("partition", -1, -1, 2**31 - 1)
    key = _bytes(arguments, "key")
    value = _bytes(arguments, "value")
    headers = _headers(arguments)
    described = await context.cluster.topic(topic, timeout_ms=0)
    if partition >= 0 and partition not in described.partitions:
        raise BadArgument("partition", f"{topic} has the partitions 0 to {len(described.partitions) - 1}")

    async def do() -> str:
        async with Producer(
            context.settings.bootstrap_servers,
            client_id=CLIENT_ID,
            security=context.settings.security,
            max_request_size=MOST_BYTES,
            delivery_timeout_ms=DELIVERY_MS,
            max_block_ms=DELIVERY_MS,
            request_timeout_ms=context.settings.request_timeout_ms,
        ) as producer:
            sent = await producer.send_and_wait(
                topic, value, key, partition=None if partition < 0 else partition, headers=headers
            )
        return f"Wrote the record to partition {sent.partition} at offset {sent.offset}."

    place = "the partition that the key gives" if partition < 0 and key is not None else "any partition"
    plan = ActionPlan(
        [
            f"Writes one record to topic {topic}, to {place if partition < 0 else f'partition {partition}'}.",
            f"Key: {_outline(key)}. Value: {_outline(value)}. Headers: {len(headers)}.",
        ],
        _command(context, topic, partition, key, value, headers),
        ["A null value deletes the key in a compacted topic."] if value is None and key is not None else [],
        do,
    )
    return await carried_out(arguments, plan)


def _bytes(arguments: ViewArguments, name: str) -> bytes | None:
    """The bytes of ``name``, which is text, hex or null by ``nameKind``. Raises BadArgument."""
    return parsed(name, arguments.text(f"{name}Kind", "text"), arguments.text(name, ""))


def parsed(name: str, kind: str, text: str) -> bytes | None:
    """Bytes of text, or of hex; None for null. Pure. Raises BadArgument."""
    if kind == "null":
        return None
    if kind == "hex":
        try:
            return bytes.fromhex(text)
        except ValueError:
            raise BadArgument(name, "is not hex: pairs of 0-9 and a-f") from None
    if kind != "text":
        raise BadArgument(f"{name}Kind", "is text, hex or null")
    return text.encode()


def _headers(arguments: ViewArguments) -> list[Header]:
    """Lines of ``name=value``; a line without ``=`` is a header with a null value. Raises BadArgument."""
    lines = arguments.items("headers", MOST_HEADERS)
    headers: list[Header] = []
    for line in lines:
        name, separator, value = line.partition("=")
        headers.append((name, value.encode() if separator else None))
    return headers


def _outline(data: bytes | None) -> str:
    return "null" if data is None else "empty" if not data else f"{len(data)} bytes"


def _command(
    context: Context, topic: str, partition: int, key: bytes | None, value: bytes | None, headers: list[Header]
) -> str:
    """The command that writes the same record, or a comment that says why there is none."""
    words: list[str] = ["--topic", topic]
    if partition >= 0:
        words += ["--partition", str(partition)]
    try:
        if key is not None:
            words += ["--key", key.decode()]
        for name, data in headers:
            if data is None:
                return "# odradek produce can't write a header with a null value: use a client library"
            words += ["--header", f"{name}={data.decode()}"]
        text = None if value is None else value.decode()
    except UnicodeDecodeError:
        return "# odradek produce writes text: for other bytes use a client library"
    if text is None:
        if key is None:
            return "# odradek produce writes a null value with --key only"
        return command(context.settings.command_options, "produce", words, "--tombstone")
    if "\n" in text:
        return "# odradek produce writes a record for each line: for line breaks use a client library"
    return piped(text, command(context.settings.command_options, "produce", words))
