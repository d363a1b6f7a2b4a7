"""What only an Odradek broker that started this console knows: connections by client library, rebalances, its log.

The protocol of Kafka has no request for these. Against any other broker the answers say so. What the page reads:

    connections   {"connections": [{library, version, listener, user, connections, idle (s)}], "total": all of them}
    rebalances    {"rebalances": [{group, type, time (ms, text), generation, reason, duration (s or null),
                  members (or null)}], "level": of the log, which must be INFO to see them}, the oldest first
    log           {"lines": [{time (ms, text), level, logger, message}], "last": number of the last line};
                  with ``after`` only the lines with greater numbers
"""

import asyncio
from collections.abc import AsyncGenerator

from ..arguments import ConsoleError, ViewArguments
from ..context import Context, Insights, Json

LOG_PERIOD_S = 1.0
MOST_LINES = 1_000
ABSENT = (
    "Kafka's protocol does not tell this. A broker of Odradek that serves its own console"
    " (odradek serve --console) shows it."
)


def _insights(context: Context) -> Insights:
    """Raises ConsoleError 404, with the reason for the page."""
    if context.insights is None:
        raise ConsoleError(404, ABSENT)
    return context.insights


async def connections(context: Context, arguments: ViewArguments) -> Json:
    """Connections by listener, client library, version and user."""
    return await _insights(context).ask("connections")


async def rebalances(context: Context, arguments: ViewArguments) -> Json:
    """The last rebalances of all groups, or of one: when, why, how long."""
    group = arguments.text("group", "")
    return await _insights(context).ask("rebalances", **({"group": group} if group else {}))


async def log_stream(context: Context, arguments: ViewArguments) -> AsyncGenerator[Json, None]:
    """The last lines of the broker's log, then the new ones each second."""
    insights = _insights(context)
    lines = arguments.number("lines", 200, 1, MOST_LINES)
    after = 0
    while True:
        found = await insights.ask("log", lines=lines, after=after)
        assert isinstance(found, dict)
        last = found.get("last", after)
        assert isinstance(last, int)
        after, lines = last, MOST_LINES
        yield found
        await asyncio.sleep(LOG_PERIOD_S)
