"""``odradek configs``: what ``kafka-configs.sh`` does, with its flags and output.

Users, clients and IP addresses, which have quotas and credentials, are in ``client_configs.py``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, TextIO

import click
from click.core import ParameterSource

from odradek.protocol.common.command_options import either, flag, option, repeated, takes
from odradek.protocol.common.lazy_imports import lazy_imports
from odradek.protocol.errors import ErrorCode, KafkaError

from .client_configs import (
    CLIENTS,
    IPS,
    USERS,
    Changes,
    ClientEntity,
    alter_credentials,
    alter_quotas,
    check_changes,
    client_entity,
    describe_clients,
    print_altered,
    upsertions_of,
    with_credentials,
)
from .command_config import admin_settings, command_config_option, command_property_option, read_properties
from .kafka_command import KafkaCommand
from .output import print_json
from .running import CommandError, bootstrap_option, exactly_one, json_option, main, run, timeout_option

with lazy_imports:
    from ..admin import client_quotas, groups, scram_users, topic_configs

if TYPE_CHECKING:
    from ..admin.configs import ConfigEntry
    from ..admin.topic_configs import TopicConfigAdmin
    from .command_config import AdminSettings


ENTITY_TYPES = {
    "topics": "topic",
    "brokers": "broker",
    "broker-loggers": "broker-logger",
    "client-metrics": "client-metrics",
    "groups": "group",
}
OWN_SOURCES = {
    "topic": "DYNAMIC_TOPIC_CONFIG",
    "broker": "DYNAMIC_BROKER_CONFIG",
    "broker-logger": "DYNAMIC_BROKER_LOGGER_CONFIG",
    "client-metrics": "DYNAMIC_CLIENT_METRICS_CONFIG",
    "group": "DYNAMIC_GROUP_CONFIG",
}
CLIENT_TYPES = (USERS, CLIENTS, IPS)
SHORT_ORDER = ("topics", CLIENTS, USERS, "brokers", "broker-loggers", IPS, "client-metrics", "groups")
"""The order in which the entity's parts are printed: with ``--user`` and ``--client`` Kafka names the client first."""
SHORT_FLAGS = (
    *("topic", "broker", "group", "broker_logger", "client_metrics", "user", "client", "ip"),
    *("broker_defaults", "user_defaults", "client_defaults", "ip_defaults"),
)
"""The options that name the type and the entity at once."""
NAMED_BY_CONFIGS = ("client-metrics", "group")
MISSING_ENTITY = (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.BROKER_NOT_AVAILABLE)
DEFAULT_BROKER_SOURCE = "DYNAMIC_DEFAULT_BROKER_CONFIG"
REFUSED = {"describe": ("add-config", "delete-config"), "add-config": ("add-config-file",)}
"""Source: ``ConfigCommandOptions.checkArgs``."""


class Entity(NamedTuple):
    """The entity to describe or alter. ``name`` None: all entities of the type; "": the cluster-wide default."""

    type: str
    name: str | None


OUTSIDE_BRACKETS = r"(?=[^\]]*(?:\[|$))"
"""What follows a character that is not between brackets."""


def split_configs(text: str) -> dict[str, str]:
    """Parses ``a=1,b=[x,y]`` as Kafka does: commas and equals signs inside brackets belong to it. Raises UsageError."""
    pairs = {}
    for part in re.split(rf",{OUTSIDE_BRACKETS}", text):
        key, *values = re.split(rf"={OUTSIDE_BRACKETS}", part)
        if len(values) != 1 or not re.fullmatch(r"[a-zA-Z0-9._-]+", key.strip()):
            raise click.UsageError(
                'Invalid entity config: all configs to be added must be in the format "key=val", or "key=[val]" if the '
                "value has a comma or an equals sign."
            )
        pairs[key.strip()] = re.sub(r"[\[\]]", "", values[0]).strip()
    return pairs


@dataclass(frozen=True, kw_only=True)
class ConfigOptions:
    """The arguments of the command."""

    bootstrap_server: str = bootstrap_option()
    bootstrap_controller: str | None = option(
        "--bootstrap-controller",
        metavar="HOST:PORT,...",
        help="Controllers to use instead of brokers, for topics, brokers and groups.",
    )
    command_config: str | None = command_config_option()
    command_property: None = command_property_option()
    describe: bool = flag("--describe", help="Show the configurations set on the entity.")
    alter: bool = flag("--alter", help="Change configurations.")
    all_: bool = flag("--all", help="With --describe: also configurations with default values.")
    add_config: str | None = option(
        "--add-config", metavar="K=V,...", help="Configurations to set; put brackets around a value with commas."
    )
    add_config_file: TextIO | None = option(
        "--add-config-file", type=click.File(), help="A properties file with configurations to set."
    )
    delete_config: str | None = option("--delete-config", metavar="K,...", help="Configurations to remove.")
    entity_types: tuple[str, ...] = repeated(
        "--entity-type",
        type=click.Choice([*ENTITY_TYPES, *CLIENT_TYPES]),
        help="The type of the entity; users and clients may be given together.",
    )
    entity_names: tuple[str, ...] = either(
        repeated(
            "--entity-name",
            help="The name of the entity: a topic, a broker's id, a group, a user, a client id, an IP address.",
        ),
        repeated(
            "--entity-default",
            is_flag=True,
            flag_value="",
            help="The default of all brokers, users, clients or IP addresses, in place of a name.",
        ),
    )
    topic: str | None = option("--topic", help="The same as --entity-type topics --entity-name.")
    broker: str | None = option("--broker", help="The same as --entity-type brokers --entity-name.")
    group: str | None = option("--group", help="The same as --entity-type groups --entity-name.")
    broker_logger: str | None = option(
        "--broker-logger", help="The same as --entity-type broker-loggers --entity-name."
    )
    client_metrics: str | None = option(
        "--client-metrics", help="The same as --entity-type client-metrics --entity-name."
    )
    user: str | None = option("--user", help="The same as --entity-type users --entity-name.")
    client: str | None = option("--client", help="The same as --entity-type clients --entity-name.")
    ip: str | None = option("--ip", help="The same as --entity-type ips --entity-name.")
    broker_defaults: bool = flag("--broker-defaults", help="The same as --entity-type brokers --entity-default.")
    user_defaults: bool = flag("--user-defaults", help="The same as --entity-type users --entity-default.")
    client_defaults: bool = flag("--client-defaults", help="The same as --entity-type clients --entity-default.")
    ip_defaults: bool = flag("--ip-defaults", help="The same as --entity-type ips --entity-default.")
    timeout_ms: int = timeout_option()
    as_json: bool = json_option()


@click.command(
    cls=KafkaCommand,
    refused=REFUSED,
    help="Show or change the configurations of topics, brokers and groups, the quotas and credentials of users.",
    context_settings={"help_option_names": ["-h", "--help"]},
)
@takes(ConfigOptions)
def command(options: ConfigOptions) -> int:
    """Checks the arguments and runs the action."""
    action = exactly_one({"describe": options.describe, "alter": options.alter})
    entity = the_entity(list(options.entity_types), list(options.entity_names), short_names(options))
    to_set: dict[str, str] = {}
    if options.add_config_file is not None:
        to_set.update(read_properties(options.add_config_file.read()))
    if options.add_config is not None:
        to_set.update(split_configs(options.add_config))
    to_delete = [key.strip() for key in (options.delete_config or "").split(",") if key.strip()]
    if action == "alter" and all(
        change is None for change in (options.add_config, options.add_config_file, options.delete_config)
    ):
        raise click.UsageError("--alter needs --add-config, --add-config-file or --delete-config")
    if options.bootstrap_controller is not None:
        check_controller_use(entity, action)
    settings = admin_settings(options.command_config, options.timeout_ms)
    if not isinstance(entity, Entity):
        changes = Changes(entity, to_set, to_delete)
        return run(
            lambda: ask_about_clients(options.bootstrap_server, settings, action, changes, as_json=options.as_json)
        )

    async def work() -> None:
        at = {"bootstrap_controllers": options.bootstrap_controller, **settings._asdict()}
        async with topic_configs.TopicConfigAdmin(options.bootstrap_server, **at) as admin:
            if action == "describe":
                await describe_configs(admin, entity, all_configs=options.all_, as_json=options.as_json)
            else:
                await alter_configs(admin, entity, to_set, to_delete, as_json=options.as_json)

    return run(work)


def check_controller_use(entity: Entity | tuple[ClientEntity, ...], action: str) -> None:
    """Raises UsageError if controllers cannot answer the request, or if brokers are given too."""
    source = click.get_current_context().get_parameter_source("bootstrap_server")
    if source is ParameterSource.COMMANDLINE:
        raise click.UsageError("Only one of --bootstrap-server or --bootstrap-controller can be specified")
    if not isinstance(entity, Entity):
        raise click.UsageError(
            "Controllers do not describe or alter users, clients and IP addresses: use --bootstrap-server"
        )
    if action == "describe" and entity == Entity("topic", None):
        raise click.UsageError("Controllers do not list topics: give --entity-name, or use --bootstrap-server")


async def ask_about_clients(
    bootstrap_server: str, settings: AdminSettings, action: str, changes: Changes, *, as_json: bool
) -> None:
    """Describes or changes users, clients or IP addresses. Imports the SCRAM calls only if they are needed."""
    upsertions = []
    if action == "alter":
        check_changes(changes)
        upsertions = upsertions_of(changes) if changes.of_scram else []
    async with client_quotas.ClientQuotaAdmin(bootstrap_server, **settings._asdict()) as admin:
        users = None
        if changes.of_scram if action == "alter" else with_credentials(changes.entity):
            users = scram_users.ScramUserAdmin.beside(admin)
        if action == "describe":
            await describe_clients(admin, users, changes.entity, as_json=as_json)
            return
        if users is None:
            await alter_quotas(admin, changes)
        else:
            await alter_credentials(users, changes, upsertions)
        print_altered(changes, as_json=as_json)


def short_names(options: ConfigOptions) -> dict[str, str]:
    """Entity type -> name, from flags such as ``--topic NAME`` and ``--user-defaults`` (name ""). Raises UsageError."""
    names: dict[str, str] = {}
    for flag_name in SHORT_FLAGS:
        value: str | bool | None = getattr(options, flag_name)
        kind = flag_name.replace("_", "-").removesuffix("-defaults")
        kind = kind if kind == "client-metrics" else f"{kind}s"
        if isinstance(value, str) or value:
            if kind in names:
                raise click.UsageError(f"Duplicate entity type(s) specified: {kind}")
            names[kind] = value if isinstance(value, str) else ""
    return dict(sorted(names.items(), key=lambda named: (not named[1], SHORT_ORDER.index(named[0]))))


def the_entity(types: list[str], names: list[str], short: dict[str, str]) -> Entity | tuple[ClientEntity, ...]:
    """The entity that the options name. Raises UsageError."""
    if short and (types or names):
        raise click.UsageError(
            "--entity-{type,name,default} should not be used in conjunction with specific entity flags"
        )
    if names and not types and not any(names):
        types = ["brokers"]
    types, names = (list(short), list(short.values())) if short else (types, names)
    if not types:
        raise click.UsageError(
            "name an entity: --topic, --broker, --group, --user, --client, --ip, or --entity-type and --entity-name"
        )
    if any(kind in CLIENT_TYPES for kind in types):
        return client_entity(types, names)
    if len(types) > 1:
        raise click.UsageError("Only 'users' and 'clients' entity types may be specified together")
    if len(names) > 1:
        raise click.UsageError("More entity names specified than entity types")
    if "" in names and types != ["brokers"]:
        raise click.UsageError("--entity-default is for --entity-type brokers, users, clients or ips")
    if types[0] in ("brokers", "broker-loggers") and any(names) and not re.fullmatch(r"[+-]?\d+", names[0]):
        raise click.UsageError(
            f"The entity name for {types[0]} must be a valid integer broker id, but it is: {names[0]}"
        )
    return Entity(ENTITY_TYPES[types[0]], names[0] if names else None)


async def describe_configs(admin: TopicConfigAdmin, entity: Entity, *, all_configs: bool, as_json: bool) -> None:
    """``--describe``: prints the configurations of the entity, or of all entities of its type."""
    names = [entity.name] if entity.name is not None else await entity_names(admin, entity.type)
    try:
        configs = await admin.describe_configs(entity.type, names, synonyms=True)
    except KafkaError as error:
        if entity.name is None or all_configs or error.error_code not in MISSING_ENTITY:
            raise
        names, configs = [], {}
    if entity.name and not all_configs and not (names and await is_known(admin, entity, configs[entity.name])):
        names = []
        if not as_json:
            click.echo(f"The {singular(entity.type)} '{entity.name}' doesn't exist and doesn't have dynamic config.")
    documents = []
    for name in names:
        entries = [entry for entry in configs[name] if all_configs or is_own(entry, entity.type, name)]
        if as_json:
            documents.append({"type": entity.type, "name": name, "configs": [config_document(e) for e in entries]})
            continue
        what = f"{singular(entity.type)} {name}" if name else f"{entity.type}s"
        kind = "Default" if not name else "All" if all_configs else "Dynamic"
        click.echo(f"{kind} configs for {what}{'' if name else ' in the cluster'} are:")
        for entry in sorted(entries, key=lambda entry: entry.name):
            synonyms = ", ".join(f"{s.source}:{s.name}={_shown(s.value)}" for s in entry.synonyms)
            click.echo(
                f"  {entry.name}={_shown(entry.value)} sensitive={str(entry.is_sensitive).lower()} "
                f"synonyms={{{synonyms}}}"
            )
    if as_json:
        print_json(documents)


def _shown(value: str | None) -> str:
    return "null" if value is None else value


def is_own(entry: ConfigEntry, entity_type: str, name: str) -> bool:
    """Whether the configuration is set on the entity itself and not inherited."""
    own_source = DEFAULT_BROKER_SOURCE if entity_type == "broker" and not name else OWN_SOURCES[entity_type]
    return entry.source == own_source


def config_document(entry: ConfigEntry) -> object:
    """A configuration for JSON."""
    return {
        "name": entry.name,
        "value": entry.value,
        "source": entry.source,
        "sensitive": entry.is_sensitive,
        "readOnly": entry.is_read_only,
        "synonyms": [{"name": s.name, "value": s.value, "source": s.source} for s in entry.synonyms],
    }


def singular(entity_type: str) -> str:
    """The type as Kafka's script prints it for one entity."""
    return entity_type.removesuffix("s")


async def is_known(admin: TopicConfigAdmin, entity: Entity, entries: list[ConfigEntry]) -> bool:
    """Whether an entity exists. Brokers describe any group and any subscription, with its defaults."""
    if entity.type not in NAMED_BY_CONFIGS or any(is_own(entry, entity.type, str(entity.name)) for entry in entries):
        return True
    return entity.name in await entity_names(admin, entity.type)


async def entity_names(admin: TopicConfigAdmin, entity_type: str) -> list[str]:
    """The names of all entities of a type. "" comes last: the default of all brokers."""
    if entity_type == "topic":
        return await admin.list_topics()
    if entity_type in NAMED_BY_CONFIGS:
        names = set(await admin.list_config_resources(entity_type))
        if entity_type == "group":
            names.update(group.group_id for group in await groups.GroupAdmin.beside(admin).list_groups())
        return sorted(names)
    brokers = [str(broker.node_id) for broker in (await admin.describe_cluster()).brokers]
    return [*brokers, ""] if entity_type == "broker" else brokers


async def alter_configs(
    admin: TopicConfigAdmin, entity: Entity, to_set: dict[str, str], to_delete: list[str], *, as_json: bool
) -> None:
    """``--alter``. Raises CommandError for an unknown logger, UsageError without a name."""
    if entity.name is None:
        raise click.UsageError("An entity name must be specified with --alter")
    if entity.type == "broker-logger":
        await check_loggers(admin, entity.name, [*to_delete, *to_set])
    elif to_delete:
        described = await admin.describe_configs(entity.type, [entity.name])
        own = {entry.name for entry in described[entity.name] if is_own(entry, entity.type, entity.name)}
        missing = [key for key in to_delete if key not in own]
        if missing:
            click.echo(f"WARN: not set on {singular(entity.type)} '{entity.name}': {','.join(missing)}", err=True)
    await admin.incremental_alter_configs(entity.type, entity.name, set_configs=to_set, delete_configs=to_delete)
    if as_json:
        print_json({"type": entity.type, "name": entity.name, "set": to_set, "deleted": to_delete})
    elif entity.name:
        click.echo(f"Completed updating config for {singular(entity.type)} {entity.name}.")
    else:
        click.echo(f"Completed updating default config for {entity.type}s in the cluster.")


async def check_loggers(admin: TopicConfigAdmin, broker: str, loggers: list[str]) -> None:
    """Raises CommandError if the broker lacks one of the loggers."""
    described = await admin.describe_configs("broker-logger", [broker])
    known = {entry.name for entry in described[broker]}
    unknown = [logger for logger in loggers if logger not in known]
    if unknown:
        raise CommandError(
            f"Invalid broker logger(s): {','.join(unknown)}; "
            f"'odradek configs --describe --broker-logger {broker}' shows all"
        )


def configs(arguments: list[str]) -> int:
    """Entry point: takes the arguments after ``odradek configs``, returns the exit code."""
    return main(command, "configs", arguments)
