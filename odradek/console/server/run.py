"""Runs a console: by itself until Ctrl-C, or for the broker that started it.

Shell. Owns: the process's sockets, signals and log. Never does: answering.
"""

import asyncio
import contextlib
import logging
import os
import signal
import socket
from collections.abc import Sequence
from typing import Any

import click

from odradek.broker.config.errors import ConfigError
from odradek.broker.config.listeners import Listener
from odradek.broker.http.hosts import in_url
from odradek.broker.network.listening import BindError, bind
from odradek.broker.security.tls.http_tls import HttpTls
from odradek.client.commands.running import CommandError
from odradek.client.errors import ConfigurationError
from odradek.client.security.secured import secured_of
from odradek.protocol.java.properties import decode_properties, parse_properties

from ..context import ClientSettings, Context
from .broker_line import BrokerLine, SessionInsights
from .console_server import ConsoleServer, ConsoleSettings
from .login import KAFKA, TOKEN, ConsoleAccess

CHECK_S = 10.0
"""The seconds between two checks of the files of the key stores."""
YIELDS = 10
"""How much the process gives way to others, its broker above all, if processors are short (``nice``)."""


async def serve(settings: ConsoleSettings, host: str, port: int, tls: HttpTls | None) -> int:
    """Serves until SIGTERM or Ctrl-C, after it has printed the page's address. Raises CommandError."""
    try:
        bound = bind(Listener("CONSOLE", "PLAINTEXT", host, port))
    except BindError as error:
        raise CommandError(str(error)) from None
    stopped = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stopped.set)
    server = ConsoleServer(settings)
    await server.start(bound.sockets)
    scheme = "http" if tls is None else "https"
    access = settings.access
    token = f"#token={access.secret}" if access.kind == TOKEN else ""
    click.echo(f"console at {scheme}://{in_url(host)}:{bound.port}/{token}")
    click.echo("Ctrl-C stops it")
    await _until(stopped, server, tls)
    return 0


async def serve_for_broker(descriptor: int) -> int:
    """Serves the sockets of the broker that started this process, until the broker ends or the console is unused.

    ``descriptor``: the line to the broker, which sends the settings first.
    """
    os.nice(YIELDS)
    line = BrokerLine()
    settings = await line.open(descriptor)
    logging.basicConfig(level=logging.INFO, handlers=[line], force=True)
    tls_texts: Any = settings["tls"]
    tls = None if tls_texts is None else HttpTls(tls_texts, "console")
    server = ConsoleServer(_settings_of_broker(settings, line, tls))
    descriptors: Any = settings["sockets"]
    await server.start([socket.socket(fileno=number) for number in descriptors])
    reading = asyncio.ensure_future(line.read())
    reading.add_done_callback(lambda _: server.unused.set())
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, server.unused.set)
    await _until(server.unused, server, tls)
    reading.cancel()
    with contextlib.suppress(asyncio.CancelledError, ConnectionError):
        await reading
    return 0


async def _keep_current(tls: HttpTls) -> None:
    while True:
        await asyncio.sleep(CHECK_S)
        await tls.look_at_files()


async def _until(stopped: asyncio.Event, server: ConsoleServer, tls: HttpTls | None) -> None:
    """Serves until the event, and stops the server."""
    looking: Sequence[asyncio.Future[None]] = () if tls is None else (asyncio.ensure_future(_keep_current(tls)),)
    try:
        await stopped.wait()
    finally:
        for task in looking:
            task.cancel()
        await asyncio.gather(*looking, return_exceptions=True)
        await server.stop()


def _settings_of_broker(settings: dict[str, Any], line: BrokerLine, tls: HttpTls | None) -> ConsoleSettings:
    """The settings from the broker's first line. Raises CommandError."""

    def insights_of(context: Context) -> SessionInsights:
        return SessionInsights(line, context)

    bootstrap = str(settings["bootstrapServers"])
    properties = {str(key): str(text) for key, text in settings["properties"].items()}
    shown: tuple[str, ...] = ("--bootstrap-server", bootstrap)
    if properties["security.protocol"] != "PLAINTEXT":
        shown = (*shown, "--command-config", "client.properties")
    client = ClientSettings(bootstrap, command_options=shown)
    if settings["access"] != KAFKA:
        try:
            client = client._replace(security=secured_of(properties))
        except ConfigurationError as error:
            raise CommandError(str(error)) from None
    access = ConsoleAccess(
        settings["access"], client, settings["credentials"], properties, tuple(settings["mechanisms"])
    )
    return ConsoleSettings(
        access,
        settings["host"],
        tuple(settings["hostNames"]),
        allows_changes=settings["allowsChanges"],
        over_tls=None if tls is None else tls.streams.over_tls,
        insights_of=insights_of,
    )


def tls_of_file(path: str) -> HttpTls:
    """The TLS of a listener from a properties file. Raises CommandError."""
    try:
        with open(path, "rb") as file:
            entries = parse_properties(decode_properties(file.read()))
        return HttpTls({entry.key: entry.value for entry in entries}, "console")
    except (OSError, ValueError, ConfigError) as error:
        raise CommandError(f"{path}: {error}") from None
