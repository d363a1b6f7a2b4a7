"""``--command-config FILE`` and ``--command-property KEY=VALUE``: settings of Kafka's clients.

Owns: which keys have an effect here, and their precedence: a given flag, a property, the file, a flag's default. Never
does: TLS and SASL, which it refuses by name instead of connecting without encryption. Source:
``CommandLineUtils.maybeMergeOptions``, KIP-1147; ``AdminClientConfig``, ``ProducerConfig``, ``ConsumerConfig``.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import click
from click.core import ParameterSource

from .properties_file import read_properties
from .running import CommandError, key_values

PLAINTEXT = "PLAINTEXT"
ASSIGNORS = {
    "RangeAssignor": "range",
    "RoundRobinAssignor": "roundrobin",
    "StickyAssignor": "sticky",
    "CooperativeStickyAssignor": "cooperative-sticky",
}
"""Java's class name without the package -> the name in this client and in Kafka's protocol."""

command_config_option = click.option(
    "--command-config",
    "command_config",
    type=click.Path(exists=True, dir_okay=False),
    metavar="FILE",
    help="A properties file with settings of the admin client.",
)


def console_config_options(client: str) -> Callable[[Callable[..., int]], Callable[..., int]]:
    """``--command-config`` and ``--command-property`` of a console command, and their names before Kafka 4.2."""
    file = click.option(
        "--command-config",
        f"--{client}.config",
        "command_config",
        type=click.Path(exists=True, dir_okay=False),
        metavar="FILE",
        help=f"A properties file with settings of the {client}.",
    )
    properties = click.option(
        "--command-property",
        f"--{client}-property",
        "command_properties",
        multiple=True,
        metavar="KEY=VALUE",
        help=f"A setting of the {client}; has precedence over the file.",
    )
    return lambda command: file(properties(command))


def _number(text: str) -> int:
    if not text.isdigit():
        raise ValueError("must be a number, 0 or more")
    return int(text)


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
"""Kafka's key -> the client's argument, and the function that parses its text (ValueError says what is valid)."""

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
    "session.timeout.ms": ("session_timeout_ms", _number),
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


def admin_settings(path: str | None, timeout_ms: int) -> AdminSettings:
    """The settings of a file; ``--timeout`` has precedence over its default.api.timeout.ms, as in Kafka's scripts.

    Raises CommandError as :func:`client_settings`.
    """
    settings = client_settings(CONNECTION, path, ignored=frozenset({"default.api.timeout.ms"}))
    return AdminSettings(default_api_timeout_ms=timeout_ms)._replace(**settings)


def client_settings(
    known: Settings, path: str | None, properties: tuple[str, ...] = (), *, ignored: frozenset[str] = frozenset()
) -> dict[str, Any]:
    """The client arguments from the file and the properties, which have precedence over the file.

    Keys without an effect are named on standard error, except those in ``ignored``. Raises CommandError for a
    security protocol that is not supported, and for invalid values; UsageError for a malformed property.
    """
    given = {}
    if path is not None:
        with open(path, encoding="utf-8") as file:
            given = {key: (path, text) for key, text in read_properties(file.read()).items()}
    for key, text in key_values(properties, "--command-property").items():
        given[key] = ("--command-property", text)
    source, protocol = given.pop("security.protocol", ("", PLAINTEXT))
    if protocol.upper() != PLAINTEXT:
        raise CommandError(f"{source}: security.protocol={protocol} is not supported yet; use a PLAINTEXT listener")
    settings: dict[str, Any] = {}
    unused: dict[str, list[str]] = {}
    for key, (source, text) in given.items():
        if key in known:
            argument, read = known[key]
            try:
                settings[argument] = read(text)
            except ValueError as error:
                raise CommandError(f"{source}: {key}={text} {error}") from None
        elif key not in ignored | GIVEN_BY_FLAGS:
            unused.setdefault(source, []).append(key)
    for source, keys in unused.items():
        print(f"{source}: no effect here: {', '.join(sorted(keys))}", file=sys.stderr)
    return settings


def under_flags(settings: Mapping[str, Any], **flags: object) -> dict[str, Any]:
    """The settings merged with the running command's ``flags``, by argument name: a given flag has precedence over a
    setting, a setting over a flag's default; None means no default. The command's parameters have the same names."""
    flags = {name: value for name, value in flags.items() if value is not None}
    context = click.get_current_context()
    given = {name for name in flags if context.get_parameter_source(name) is ParameterSource.COMMANDLINE}
    return {**flags, **settings, **{name: value for name, value in flags.items() if name in given}}
