"""``--command-config FILE`` and ``--command-property KEY=VALUE``: settings of Kafka's clients.

Owns: the keys that have an effect here, and the precedence: a given flag, a property, the file, a flag's default.
Errors name the file and the line. They never show the value of a security key. Source:
``CommandLineUtils.maybeMergeOptions``, KIP-1147; ``AdminClientConfig``, ``ProducerConfig``, ``ConsumerConfig``.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import click
from click.core import ParameterSource

from odradek.protocol.common.command_options import option, repeated
from odradek.protocol.common.lazy_imports import lazy_imports
from odradek.protocol.java.properties import decode_properties, parse_properties

from .running import CommandError, bootstrap_option, key_values

with lazy_imports:
    from .. import errors
    from ..security import secured as security_secured
    from ..security import settings as settings_module

if TYPE_CHECKING:
    from ..security.secured import ConnectionSecurity


Admin = TypeVar("Admin")
FILE_PATH = click.Path(exists=True, dir_okay=False)
ASSIGNORS = {
    "RangeAssignor": "range",
    "RoundRobinAssignor": "roundrobin",
    "StickyAssignor": "sticky",
    "CooperativeStickyAssignor": "cooperative-sticky",
}
"""Java's class name without the package -> the name in this client and in Kafka's protocol."""

CONFIG_VARIABLE = "ODRADEK_COMMAND_CONFIG"
PROPERTIES, FILE = "odradek.command_properties", "odradek.deprecated_config"
SHAPE = "odradek.deprecated_properties"
"""Keys of ``click.Context.meta``: they store the values of flags that are not parameters of the command's function."""


def _keep_properties(context: click.Context, parameter: click.Parameter, texts: tuple[str, ...]) -> tuple[str, ...]:
    """Stores the values of ``--command-property``, which may come before or after the name of a subcommand."""
    context.meta[PROPERTIES] = (*context.meta.get(PROPERTIES, ()), *texts)
    return texts


def command_config_option(*names: str) -> Any:
    """``--command-config``, or the option of these names: the file with settings of the admin client."""
    return option(
        *(names or ("--command-config",)),
        type=FILE_PATH,
        metavar="FILE",
        help="A properties file with settings of the admin client.",
    )


def command_property_option() -> Any:
    """``--command-property`` for the admin client. The field has no value: :func:`given_settings` reads it."""
    return repeated(
        "--command-property",
        metavar="KEY=VALUE",
        expose_value=False,
        callback=_keep_properties,
        help="A setting of the admin client; takes precedence over the file.",
    )


@dataclass(frozen=True, kw_only=True)
class ConnectionOptions:
    """The brokers' addresses, and the settings of the admin client."""

    bootstrap_server: str = bootstrap_option()
    command_config: str | None = command_config_option()
    command_property: None = command_property_option()

    def admin(self, client: Callable[..., Admin], timeout_ms: int) -> Admin:
        """Makes an admin client of this class. Raises the errors of :func:`client_settings`."""
        return client(self.bootstrap_server, **admin_settings(self.command_config, timeout_ms)._asdict())


def _deprecated(new: str, key: str) -> Callable[[click.Context, click.Parameter, Any], None]:
    """A callback for an option with a newer name: warns, and stores the value in the context."""

    def keep(context: click.Context, parameter: click.Parameter, value: Any) -> None:
        if not value:
            return
        old = parameter.opts[0]
        click.echo(f"Option {old} is deprecated and will be removed in a future version. Use {new} instead.", err=True)
        context.meta[key] = value

    return keep


def deprecated_properties(new: str) -> Any:
    """``--property``, the name before Kafka 4.2 of ``--reader-property`` or ``--formatter-property``."""
    return repeated(
        "--property",
        metavar="KEY=VALUE",
        expose_value=False,
        callback=_deprecated(new, SHAPE),
        help=f"Deprecated: {new}.",
    )


def with_deprecated(properties: tuple[str, ...]) -> tuple[str, ...]:
    """The properties of the new name, or those of ``--property``. A command line cannot have both."""
    return properties or click.get_current_context().meta.get(SHAPE, ())


def client_config_option(client: str) -> Any:
    """``--command-config`` for a producer or a consumer."""
    return option(
        "--command-config", type=FILE_PATH, metavar="FILE", help=f"A properties file with settings of the {client}."
    )


def client_properties_option(client: str) -> Any:
    """``--command-property`` for a producer or a consumer."""
    return repeated(
        "--command-property",
        metavar="KEY=VALUE",
        help=f"A setting of the {client}; takes precedence over the file.",
    )


def old_config_option(client: str) -> Any:
    """The name of ``--command-config`` before Kafka 4.2. The field has no value: :func:`given_settings` reads it."""
    return option(
        f"--{client}.config",
        type=FILE_PATH,
        metavar="FILE",
        expose_value=False,
        callback=_deprecated("--command-config", FILE),
        help="Deprecated: --command-config.",
    )


def old_properties_option(client: str) -> Any:
    """The name of ``--command-property`` before Kafka 4.2. The field has no value: :func:`given_settings` reads it."""
    return repeated(
        f"--{client}-property",
        metavar="KEY=VALUE",
        expose_value=False,
        callback=_deprecated("--command-property", PROPERTIES),
        help="Deprecated: --command-property.",
    )


def _number(text: str) -> int:
    if not text.isdigit():
        raise ValueError("must be a number, 0 or more")
    return int(text)


def _buffer_size(text: str) -> int:
    return -1 if text == "-1" else _number(text)


def _switch(text: str) -> bool:
    if text.lower() not in ("true", "false"):
        raise ValueError("must be true or false")
    return text.lower() == "true"


def _assignors(text: str) -> list[str]:
    names = [name.strip().rpartition(".")[2] for name in text.split(",")]
    unknown = [name for name in names if name not in ASSIGNORS and name not in ASSIGNORS.values()]
    if unknown:
        raise ValueError(f"must be one of {', '.join(ASSIGNORS)}")
    return [ASSIGNORS.get(name, name) for name in names]


Settings = Mapping[str, tuple[str, Callable[[str], object]]]
"""Kafka's key -> the client's argument, and the function that parses its text (raises ValueError: the valid values)."""

CONNECTION: Settings = {
    "client.id": ("client_id", str),
    "request.timeout.ms": ("request_timeout_ms", _number),
    "socket.connection.setup.timeout.ms": ("connection_timeout_ms", _number),
    "retry.backoff.ms": ("retry_backoff_ms", _number),
    "retry.backoff.max.ms": ("retry_backoff_max_ms", _number),
}
PRODUCER: Settings = {
    **CONNECTION,
    "acks": ("acks", str),
    "batch.size": ("batch_size", _number),
    "buffer.memory": ("buffer_memory", _number),
    "compression.type": ("compression_type", str),
    "delivery.timeout.ms": ("delivery_timeout_ms", _number),
    "enable.idempotence": ("enable_idempotence", _switch),
    "linger.ms": ("linger_ms", _number),
    "max.block.ms": ("max_block_ms", _number),
    "max.in.flight.requests.per.connection": ("max_in_flight_requests_per_connection", _number),
    "max.request.size": ("max_request_size", _number),
    "metadata.max.age.ms": ("metadata_max_age_ms", _number),
    "partitioner.adaptive.partitioning.enable": ("partitioner_adaptive_partitioning_enable", _switch),
    "partitioner.ignore.keys": ("partitioner_ignore_keys", _switch),
    "retries": ("retries", _number),
    "send.buffer.bytes": ("send_buffer_bytes", _buffer_size),
}
CONSUMER: Settings = {
    **CONNECTION,
    "allow.auto.create.topics": ("allow_auto_create_topics", _switch),
    "auto.commit.interval.ms": ("auto_commit_interval_ms", _number),
    "auto.offset.reset": ("auto_offset_reset", str),
    "check.crcs": ("check_crcs", _switch),
    "client.rack": ("client_rack", str),
    "default.api.timeout.ms": ("default_api_timeout_ms", _number),
    "enable.auto.commit": ("enable_auto_commit", _switch),
    "fetch.max.bytes": ("fetch_max_bytes", _number),
    "fetch.max.wait.ms": ("fetch_max_wait_ms", _number),
    "fetch.min.bytes": ("fetch_min_bytes", _number),
    "group.id": ("group_id", str),
    "group.instance.id": ("group_instance_id", str),
    "group.protocol": ("group_protocol", str.lower),
    "group.remote.assignor": ("group_remote_assignor", str),
    "heartbeat.interval.ms": ("heartbeat_interval_ms", _number),
    "isolation.level": ("isolation_level", str),
    "max.partition.fetch.bytes": ("max_partition_fetch_bytes", _number),
    "max.poll.interval.ms": ("max_poll_interval_ms", _number),
    "max.poll.records": ("max_poll_records", _number),
    "metadata.max.age.ms": ("metadata_max_age_ms", _number),
    "partition.assignment.strategy": ("partition_assignment_strategy", _assignors),
    "receive.buffer.bytes": ("receive_buffer_bytes", _buffer_size),
    "session.timeout.ms": ("session_timeout_ms", _number),
}
SHARE_CONSUMER: Settings = {
    **CONNECTION,
    **{
        key: CONSUMER[key]
        for key in (
            "check.crcs",
            "client.rack",
            "fetch.max.bytes",
            "fetch.max.wait.ms",
            "fetch.min.bytes",
            "group.id",
            "max.poll.records",
            "metadata.max.age.ms",
        )
    },
    "share.acquire.mode": ("share_acquire_mode", str),
}
GIVEN_BY_FLAGS = frozenset({"bootstrap.servers"})


class AdminSettings(NamedTuple):
    """The arguments of the admin client, except the broker's address."""

    client_id: str = "odradek-admin"
    request_timeout_ms: float = 30_000
    connection_timeout_ms: float = 10_000
    default_api_timeout_ms: float = 30_000
    retry_backoff_ms: float = 100
    retry_backoff_max_ms: float = 1_000
    security: ConnectionSecurity | None = None


def admin_settings(path: str | None, timeout_ms: int) -> AdminSettings:
    """The settings of a file. ``--timeout`` overrides its default.api.timeout.ms, as in Kafka's scripts.

    Without other settings it also limits one attempt to connect: a broker that hangs does not delay the error.

    Raises the errors of :func:`client_settings`.
    """
    settings = client_settings(CONNECTION, path, ignored=frozenset({"default.api.timeout.ms"}))
    connecting_ms = min(timeout_ms, AdminSettings().connection_timeout_ms)
    return AdminSettings(default_api_timeout_ms=timeout_ms, connection_timeout_ms=connecting_ms)._replace(**settings)


class GivenSetting(NamedTuple):
    """A setting's text, and the file and line or the flag that it comes from."""

    source: str
    line: int
    text: str

    @property
    def where(self) -> str:
        """The source and line of the setting, for error messages."""
        return f"{self.source}, line {self.line}" if self.line else self.source


def given_settings(path: str | None, properties: tuple[str, ...]) -> dict[str, GivenSetting]:
    """The settings from the file and from ``--command-property``, or from the deprecated names of these flags.

    Without a flag for the file, the environment variable ODRADEK_COMMAND_CONFIG names it.

    Raises CommandError, UsageError.
    """
    context = click.get_current_context(silent=True)
    kept = {} if context is None else context.meta
    path = path or kept.get(FILE) or os.environ.get(CONFIG_VARIABLE)
    given: dict[str, GivenSetting] = {}
    if path is not None:
        try:
            with open(path, "rb") as file:
                entries = parse_properties(decode_properties(file.read()))
        except (OSError, ValueError) as error:
            raise CommandError(f"{path}: {error}") from None
        given = {entry.key: GivenSetting(path, entry.line, entry.value) for entry in entries}
    for key, text in key_values((*kept.get(PROPERTIES, ()), *properties), "--command-property").items():
        given[key] = GivenSetting("--command-property", 0, text)
    return given


def client_settings(
    known: Settings, path: str | None, properties: tuple[str, ...] = (), *, ignored: frozenset[str] = frozenset()
) -> dict[str, Any]:
    """The client arguments from the file and the properties, which have precedence over the file.

    Keys without an effect are named on standard error, except those in ``ignored``. Raises CommandError for invalid
    values; UsageError for a malformed property.
    """
    given = given_settings(path, properties)
    settings: dict[str, Any] = {}
    secured = security_settings(given)
    if secured is not None:
        settings["security"] = secured
    unused: dict[str, list[str]] = {}
    for key, setting in given.items():
        if key in known:
            argument, read = known[key]
            try:
                settings[argument] = read(setting.text)
            except ValueError as error:
                raise CommandError(f"{setting.where}: {key}={setting.text} {error}") from None
        elif key not in ignored | GIVEN_BY_FLAGS:
            unused.setdefault(setting.source, []).append(key)
    for source, keys in unused.items():
        print(f"{source}: these settings have no effect here: {', '.join(sorted(keys))}", file=sys.stderr)
    return settings


def read_properties(text: str) -> dict[str, str]:
    """The keys and values. If a key occurs twice, the last value counts. Raises ValueError with the line number."""
    return {entry.key: entry.value for entry in parse_properties(text)}


def security_settings(given: dict[str, GivenSetting]) -> ConnectionSecurity | None:
    """Removes the security keys from ``given`` and returns the client's security; None for PLAINTEXT.

    Raises CommandError, whose message shows no values.
    """
    if not any(key.startswith(("security.", "ssl.", "sasl.")) for key in given):
        return None
    mine = {key: given.pop(key) for key in [key for key in given if key in settings_module.KEYS]}
    try:
        return security_secured.secured_of({key: setting.text for key, setting in mine.items()})
    except errors.ConfigurationError as error:
        named = [setting.where for key, setting in mine.items() if str(error).startswith(key)]
        where = named[0] if named else next(iter(mine.values())).source
        raise CommandError(f"{where}: {error}") from None


def under_flags(settings: Mapping[str, Any], **flags: object) -> dict[str, Any]:
    """Merges settings with the running command's ``flags`` (argument name -> value; None: neither given nor default).

    A given flag has precedence over a setting, and a setting over a flag's default. The names in ``flags`` must be
    those of the command's parameters.
    """
    flags = {name: value for name, value in flags.items() if value is not None}
    context = click.get_current_context()
    given = {name for name in flags if context.get_parameter_source(name) is ParameterSource.COMMANDLINE}
    return {**flags, **settings, **{name: value for name, value in flags.items() if name in given}}
