"""``odradek console``: serves a page in the browser that shows a Kafka cluster and changes it.

It is a client as other commands are: it connects to ``--bootstrap-server`` with ``--command-config``. A broker with
``odradek.console.listener`` starts it with ``--broker-descriptor``, and passes the settings on that line.
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from typing import Any

import click

from odradek.broker.http.hosts import is_loopback
from odradek.client.commands.command_config import CONNECTION, ConnectionOptions, client_settings, given_settings
from odradek.client.commands.running import CommandError, main, run
from odradek.client.security.settings import KEYS
from odradek.protocol.common.command_options import flag, included, option, repeated, takes

from ..context import ClientSettings
from .console_server import ConsoleSettings
from .login import KAFKA, MECHANISMS, TOKEN, ConsoleAccess
from .run import serve, serve_for_broker, tls_of_file

DEFAULT_LISTENER = "127.0.0.1:8080"
LOGIN_KEYS = ("sasl.mechanism", "sasl.jaas.config")
"""The keys of a user's login, which the user types with ``--login``."""


@dataclass(frozen=True, kw_only=True)
class ConsoleOptions:
    """The arguments of the command."""

    connection: ConnectionOptions = included(ConnectionOptions)
    listener: str = option(
        "--listener", default=DEFAULT_LISTENER, show_default=True, metavar="HOST:PORT", help="The page's address."
    )
    listener_config: str | None = option(
        "--listener-config",
        type=click.Path(exists=True, dir_okay=False),
        metavar="FILE",
        help="Serve the page over TLS, with the ssl.* properties of this file.",
    )
    host_names: tuple[str, ...] = repeated(
        "--host-name", metavar="NAME", help="Another name under which browsers reach the page; may be repeated."
    )
    login: bool = flag(
        "--login", help="Ask each user for the own login at the brokers (SASL), and act with its rights."
    )
    read_only: bool = flag("--read-only", help="Show only; refuse every change.")
    broker_descriptor: int | None = option("--broker-descriptor", type=int, hidden=True)


@click.command(
    help="Serve a page in the browser that shows a Kafka cluster and changes it.",
    context_settings={"help_option_names": ["-h", "--help"]},
)
@takes(ConsoleOptions)
def command(options: ConsoleOptions) -> int:
    """Serves until Ctrl-C."""
    descriptor = options.broker_descriptor
    if descriptor is not None:
        return run(lambda: serve_for_broker(descriptor), is_measuring=True)
    host, port = host_and_port(options.listener)
    if not is_loopback(host) and options.listener_config is None:
        raise CommandError(
            f"--listener {options.listener} can be reached from other machines, so it needs TLS: name a file with"
            " ssl.keystore.location by --listener-config, or listen on 127.0.0.1"
        )
    access = _kafka_access(options) if options.login else _token_access(options)
    tls = None if options.listener_config is None else tls_of_file(options.listener_config)
    settings = ConsoleSettings(
        access,
        host,
        options.host_names,
        allows_changes=not options.read_only,
        over_tls=None if tls is None else tls.streams.over_tls,
    )
    return run(lambda: serve(settings, host, port, tls), is_measuring=True)


def _token_access(options: ConsoleOptions) -> ConsoleAccess:
    """Access with a random token, which acts with the settings of the command. Raises CommandError."""
    given = client_settings(CONNECTION, options.connection.command_config)
    client = _client(options)._replace(**_used(given))
    return ConsoleAccess(TOKEN, client, secrets.token_urlsafe(32))


def _kafka_access(options: ConsoleOptions) -> ConsoleAccess:
    """Access with the user's login at the brokers. Raises CommandError."""
    given = given_settings(options.connection.command_config, ())
    texts = {key: setting.text for key, setting in given.items() if key in KEYS}
    protocol = texts.get("security.protocol", "").strip().upper()
    if not protocol.startswith("SASL_"):
        raise CommandError("--login needs a --command-config with security.protocol=SASL_SSL or SASL_PLAINTEXT")
    mechanism = texts.get("sasl.mechanism", "").strip()
    if mechanism and mechanism not in MECHANISMS:
        raise CommandError(f"--login asks for a password; sasl.mechanism can be {', '.join(MECHANISMS)}")
    properties = {key: text for key, text in texts.items() if key not in LOGIN_KEYS}
    return ConsoleAccess(
        KAFKA, _client(options), properties=properties, mechanisms=(mechanism,) if mechanism else MECHANISMS
    )


def _client(options: ConsoleOptions) -> ClientSettings:
    connection = options.connection
    shown: tuple[str, ...] = ("--bootstrap-server", connection.bootstrap_server)
    if connection.command_config is not None:
        shown = (*shown, "--command-config", connection.command_config)
    return ClientSettings(connection.bootstrap_server, command_options=shown)


def _used(given: dict[str, Any]) -> dict[str, Any]:
    """The settings of a command that the console's clients have."""
    return {name: value for name, value in given.items() if name in ("security", "request_timeout_ms")}


def host_and_port(address: str) -> tuple[str, int]:
    """The parts of ``host:port``. Raises CommandError."""
    host, separator, port = address.rpartition(":")
    if not separator or not port.isdecimal() or int(port) > 65_535:
        raise CommandError(f"--listener {address}: must be HOST:PORT")
    return host.strip("[]"), int(port)


def console(arguments: list[str]) -> int:
    """Entry point: takes the arguments after ``odradek console``, returns the exit code."""
    return main(command, "console", arguments)
