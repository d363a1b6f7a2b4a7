"""Asks views as the server does: by method and path, through the table of routes."""

from collections.abc import AsyncGenerator, Awaitable
from typing import Any, cast

from odradek.client.admin import NewTopic
from odradek.console.arguments import ViewArguments
from odradek.console.context import Context, Json
from odradek.console.routes import ROUTES
from odradek.console.server.routing import RouteTable

TABLE = RouteTable(ROUTES)


async def get(context: Context, path: str, **arguments: object) -> Any:
    """The answer of a GET."""
    found = TABLE.find("GET", path)
    return await cast(Awaitable[Json], found.route.serve(context, ViewArguments({**arguments, **found.parts})))


async def post(context: Context, path: str, **arguments: object) -> Any:
    """The answer of a POST."""
    found = TABLE.find("POST", path)
    return await cast(Awaitable[Json], found.route.serve(context, ViewArguments({**arguments, **found.parts})))


def stream(context: Context, path: str, **arguments: object) -> AsyncGenerator[Any, None]:
    """The values of a stream."""
    found = TABLE.find("GET", path)
    assert found.route.is_stream
    return cast("AsyncGenerator[Any, None]", found.route.serve(context, ViewArguments({**arguments, **found.parts})))


async def create(context: Context, topic: str, partitions: int = 1, **configs: str) -> None:
    """Creates a topic, and waits until the broker knows it."""
    named = {key.replace("_", "."): value for key, value in configs.items()}
    await context.admin.create_topics([NewTopic(topic, partitions, 1, configs=named)])
    while topic not in await context.admin.list_topics():
        pass
