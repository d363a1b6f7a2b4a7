"""``odradek console``: serves a page in the browser that shows a Kafka cluster and changes it.

It is a client as other commands are: it connects to ``--bootstrap-server`` with ``--command-config``.
"""

from __future__ import annotations

import asyncio
import secrets
import signal
from dataclasses import dataclass

import click

from odradek.broker.config.listeners import Listener
from odradek.broker.network.listening import BindError, bind
from odradek.client.commands.command_config import CONNECTION, ConnectionOptions, client_settings
from odradek.client.commands.running import CommandError, main, run
from odradek.protocol.common.command_options import flag, included, option, repeated, takes

from ..context import ClientSettings
from .console_server import ConsoleServer, ConsoleSettings
from .hosts import is_loopback, is_wildcard
from .login import TOKEN, ConsoleAccess

DEFAULT_LISTENER = "127.0.0.1:8080"


@dataclass(frozen=True, kw_only=True)
class ConsoleOptions:
    """The arguments of the command."""

    connection: ConnectionOptions = included(ConnectionOptions)
    listener: str = option(
        "--listener", default=DEFAULT_LISTENER, show_default=True, metavar="HOST:PORT", help="The page's address."
    )
    host_names: tuple[str, ...] = repeated(
        "--host-name", metavar="NAME", help="Another name under which browsers reach the page; may be repeated."
    )
    read_only: bool = flag("--read-only", help="Show only; refuse every change.")


@click.command(
    help="Serve a page in the browser that shows a Kafka cluster and changes it.",
    context_settings={"help_option_names": ["-h", "--help"]},
)
@takes(ConsoleOptions)
def command(options: ConsoleOptions) -> int:
    """Serves until Ctrl-C."""
    host, port = host_and_port(options.listener)
    if not is_loopback(host):
        raise CommandError(
            f"--listener {options.listener} can be reached from other machines: it needs TLS and a login"
        )
    given = client_settings(CONNECTION, options.connection.command_config)
    token = secrets.token_urlsafe(32)
    access = ConsoleAccess(TOKEN, session_settings(options.connection, given), token)
    settings = ConsoleSettings(access, host, options.host_names, not options.read_only)
    return run(lambda: serve(settings, host, port, token), is_measuring=True)


def session_settings(connection: ConnectionOptions, given: dict[str, object]) -> ClientSettings:
    """What the sessions of the command act with."""
    shown: tuple[str, ...] = ("--bootstrap-server", connection.bootstrap_server)
    if connection.command_config is not None:
        shown = (*shown, "--command-config", connection.command_config)
    made = ClientSettings(connection.bootstrap_server, command_options=shown)
    known = {name: value for name, value in given.items() if name in ("security", "request_timeout_ms")}
    return made._replace(**known)  # type: ignore[arg-type]


async def serve(settings: ConsoleSettings, host: str, port: int, token: str) -> int:
    """Serves until SIGTERM or Ctrl-C, after it has printed the page's address. Raises CommandError."""
    try:
        bound = bind(Listener("CONSOLE", "PLAINTEXT", host, port))
    except BindError as error:
        raise CommandError(str(error)) from None
    server = ConsoleServer(settings)
    await server.start(bound.sockets)
    stopped = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stopped.set)
    shown = "127.0.0.1" if is_wildcard(host) else host
    bracketed = f"[{shown}]" if ":" in shown else shown
    click.echo(f"console at http://{bracketed}:{bound.port}/#token={token}")
    click.echo("Ctrl-C stops it")
    try:
        await stopped.wait()
    finally:
        await server.stop()
    return 0


def host_and_port(address: str) -> tuple[str, int]:
    """The parts of ``host:port``. Raises CommandError."""
    host, separator, port = address.rpartition(":")
    if not separator or not port.isdigit() or int(port) > 65_535:
        raise CommandError(f"--listener {address}: must be HOST:PORT")
    return host.strip("[]"), int(port)


def console(arguments: list[str]) -> int:
    """Entry point: takes the arguments after ``odradek console``, returns the exit code."""
    return main(command, "console", arguments)
