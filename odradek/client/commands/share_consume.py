"""``odradek consume --share``: reads as a member of a share group, and acknowledges each record after it is printed.

Owns: which acknowledgement a record gets. Never does: parsing the options, see :mod:`.consume`. Source:
``ConsoleShareConsumer``.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import click

from ..share import ShareConsumer, ShareRecord
from ..share.share_consumer import AcknowledgeType
from .deserializers import DeserializationError
from .running import CommandError

if TYPE_CHECKING:
    from .consume_options import ConsumeOptions
    from .message_formatters import Formatter

POLL_MS = 1_000


async def share_consume_until_done(settings: Mapping[str, Any], options: ConsumeOptions, formatter: Formatter) -> int:
    """Reads, prints and acknowledges records, then prints their number. ``settings``: the consumer's other arguments.

    Records that are fetched and not printed are released. Returns 1 if an acknowledgement has failed. Raises
    CommandError for a record that cannot be printed, unless such records are rejected.
    """
    assert options.topic is not None
    consumer = ShareConsumer(
        options.topic,
        bootstrap_servers=options.bootstrap_server,
        share_acknowledgement_mode="explicit",
        **settings,
    )
    printed = 0
    try:
        async with consumer:
            loop = asyncio.get_running_loop()
            last_record = loop.time()
            while options.record_limit is None or printed < options.record_limit:
                wait_ms: float = POLL_MS
                if options.idle_limit_ms is not None:
                    wait_ms = min(wait_ms, options.idle_limit_ms - (loop.time() - last_record) * 1000)
                    if wait_ms <= 0:
                        break
                records = await consumer.poll(wait_ms)
                for record in records:
                    if printed == options.record_limit:
                        consumer.acknowledge(record, AcknowledgeType.RELEASE)
                        continue
                    consumer.acknowledge(record, _print(record, options, formatter))
                    printed += 1
                if records:
                    sys.stdout.buffer.flush()
                    last_record = loop.time()
            failed = {partition: error for partition, error in (await consumer.commit()).items() if error is not None}
    finally:
        click.echo(f"Processed a total of {printed} messages", err=True)
    for partition, error in sorted(failed.items()):
        click.echo(f"{partition}: the last records were not acknowledged: {error.args[-1]}", err=True)
    return 1 if failed else 0


def _print(record: ShareRecord, options: ConsumeOptions, formatter: Formatter) -> AcknowledgeType:
    """Prints a record. Returns its acknowledgement."""
    try:
        sys.stdout.buffer.write(formatter(record.record, record.delivery_count))
    except DeserializationError as error:
        where = f"{record.record.topic}-{record.record.partition} at offset {record.record.offset}"
        if not options.reject_message_on_error:
            raise CommandError(f"{where}: {error}; --reject-message-on-error rejects such records") from None
        click.echo(f"Error processing message, rejecting this message: {where}: {error}", err=True)
        return AcknowledgeType.REJECT
    if options.reject:
        return AcknowledgeType.REJECT
    return AcknowledgeType.RELEASE if options.release else AcknowledgeType.ACCEPT
