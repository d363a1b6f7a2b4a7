"""``--command-config FILE``: the settings of Kafka's admin client that mean something to ours.

Owns: which keys have an effect. Never does: TLS and SASL, which it refuses by name instead of connecting in the clear.
Source: ``CommandLineUtils`` and ``AdminClientConfig``.
"""

from __future__ import annotations

import sys
from typing import NamedTuple

import click

from .properties_file import read_properties
from .running import CommandError

PLAINTEXT = "PLAINTEXT"
command_config_option = click.option(
    "--command-config",
    "command_config",
    type=click.Path(exists=True, dir_okay=False),
    metavar="FILE",
    help="A properties file with settings of the admin client.",
)


class AdminSettings(NamedTuple):
    """What the admin client is made with, besides whom to ask."""

    client_id: str = "odradek-admin"
    request_timeout_ms: float = 30_000
    connection_timeout_ms: float = 10_000
    default_api_timeout_ms: float = 30_000
    retry_backoff_ms: float = 100
    retry_backoff_max_ms: float = 1_000


def admin_settings(path: str | None, timeout_ms: int) -> AdminSettings:
    """The settings of a file; ``--timeout`` stands above its default.api.timeout.ms, as in Kafka's scripts.

    Raises CommandError for a security protocol that is not served here, and for values that are no numbers. Keys
    without an effect are named on standard error.
    """
    settings = AdminSettings(default_api_timeout_ms=timeout_ms)
    if path is None:
        return settings
    with open(path, encoding="utf-8") as file:
        properties = read_properties(file.read())
    protocol = properties.pop("security.protocol", PLAINTEXT)
    if protocol.upper() != PLAINTEXT:
        raise CommandError(f"{path}: security.protocol={protocol} is not supported yet; name a PLAINTEXT listener")
    properties.pop("bootstrap.servers", None)  # the command line's stands above it
    properties.pop("default.api.timeout.ms", None)  # likewise

    def milliseconds(key: str, default: float) -> float:
        text = properties.pop(key, None)
        if text is None:
            return default
        if not text.isdigit():
            raise CommandError(f"{path}: {key}={text} must be a number of milliseconds")
        return float(text)

    settings = AdminSettings(
        properties.pop("client.id", settings.client_id),
        milliseconds("request.timeout.ms", settings.request_timeout_ms),
        milliseconds("socket.connection.setup.timeout.ms", settings.connection_timeout_ms),
        timeout_ms,
        milliseconds("retry.backoff.ms", settings.retry_backoff_ms),
        milliseconds("retry.backoff.max.ms", settings.retry_backoff_max_ms),
    )
    if properties:
        print(f"{path}: no effect here: {', '.join(sorted(properties))}", file=sys.stderr)
    return settings
