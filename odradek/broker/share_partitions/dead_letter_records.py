"""The records of a dead letter queue: one for each record that a share group has given up.

Pure. Owns: their form. Never does: writing them. Source: ``ShareGroupDLQManager``, KIP-1191.
"""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from odradek.protocol.records.builder import BatchBuilder

from .share_partition import Cause

REJECTED = "Offset rejected by client."
TOO_OFTEN = "Offset delivery count exceeded the threshold."
OVERHEAD_BYTES = 128
"""More than the fields of a record and of its batch take besides key, value and headers."""
MOST_IN_A_BATCH = 500

Content = tuple[bytes | None, bytes | None]
"""The key and the value of a record."""
NO_CONTENT: Content = (None, None)


class LetterSource(NamedTuple):
    """Where the records come from."""

    group_id: str
    topic: str
    partition: int


def letter_batches(
    source: LetterSource, cause: Cause, contents: Mapping[int, Content], max_bytes: int, now_ms: int
) -> Iterator[bytes]:
    """The letters of the records of one cause, in batches of at most ``max_bytes`` (``max.message.bytes``).

    ``contents``: offset -> key and value of the records that are copied. One that does not fit is left out, and its
    letter has headers only.
    """
    builder = BatchBuilder()
    for offset in range(cause.first, cause.last + 1):
        headers = _headers(source, cause, offset)
        size = OVERHEAD_BYTES + sum(len(key) + len(value) + 8 for key, value in headers)
        key, value = contents.get(offset, NO_CONTENT)
        content_bytes = len(key or b"") + len(value or b"")
        if size + content_bytes > max_bytes:
            key, value = NO_CONTENT
            content_bytes = 0
        is_full = builder.size_in_bytes + size + content_bytes > max_bytes
        if builder.records_count and (is_full or builder.records_count == MOST_IN_A_BATCH):
            yield builder.build()
            builder = BatchBuilder()
        builder.append(now_ms, key, value, headers)
    if builder.records_count:
        yield builder.build()


def _headers(source: LetterSource, cause: Cause, offset: int) -> list[tuple[str, bytes]]:
    texts = {
        "topic": source.topic,
        "partition": str(source.partition),
        "offset": str(offset),
        "group": source.group_id,
        "delivery.count": str(cause.delivery_count),
        "message": REJECTED if cause.is_rejected else TOO_OFTEN,
    }
    return [(f"__dlq.errors.{name}", text.encode()) for name, text in texts.items()]
