"""``odradek configs`` for users, clients and IP addresses: quotas and SCRAM credentials.

Source: ``ConfigCommand``, from ``alterConfig`` to ``describeClientQuotaAndUserScramCredentialConfigs``. A password is
never printed: errors name the key only.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

import click

from odradek.protocol.common.lazy_imports import lazy_imports

from .java_errors import java_error
from .output import print_json
from .running import CommandError

with lazy_imports:
    from odradek.protocol.show import message_documents

    from .. import errors as client_errors
    from ..admin import client_quotas, scram_users

if TYPE_CHECKING:
    from ..admin.client_quotas import ClientQuotaAdmin
    from ..admin.scram_users import ScramUpsertion, ScramUserAdmin

USERS, CLIENTS, IPS = "users", "clients", "ips"
KINDS = {USERS: "user", CLIENTS: "client-id", IPS: "ip"}
"""The entity type of the command line -> its name in the protocol."""
SHOWN = {"user": "user-principal", "client-id": "client-id", "ip": "ip"}
QUOTAS = ("producer_byte_rate", "consumer_byte_rate", "request_percentage", "controller_mutation_rate")
IP_QUOTAS = ("connection_creation_rate",)
SCRAM = ("SCRAM-SHA-256", "SCRAM-SHA-512")
LEAST_ITERATIONS = 4096
PASSWORD = re.compile(r"(?:iterations=(-?[0-9]*),)?password=(.*)", re.DOTALL)


class ClientEntity(NamedTuple):
    """One part of an entity. ``name`` "" is the default of the type; None is any name (only with ``--describe``)."""

    type: str
    name: str | None


class Changes(NamedTuple):
    """The changes of ``--alter``."""

    entity: tuple[ClientEntity, ...]
    to_set: dict[str, str]
    to_delete: list[str]

    @property
    def of_scram(self) -> bool:
        """True if the change is about SCRAM credentials, False if it is about quotas."""
        return any(key in SCRAM for key in (*self.to_set, *self.to_delete))


def client_entity(types: list[str], names: list[str]) -> tuple[ClientEntity, ...]:
    """The entity of ``--entity-type`` and ``--entity-name``. Raises UsageError."""
    if len(types) != len(set(types)):
        raise click.UsageError(f"Duplicate entity type(s) specified: {','.join(types)}")
    if len(types) > 1 and set(types) != {USERS, CLIENTS}:
        raise click.UsageError("Only 'users' and 'clients' entity types may be specified together")
    if len(names) > len(types):
        raise click.UsageError("More entity names specified than entity types")
    padded: list[str | None] = [*names, *[None] * (len(types) - len(names))]
    return tuple(ClientEntity(kind, name) for kind, name in zip(types, padded, strict=True))


def check_changes(changes: Changes) -> None:
    """Raises UsageError for keys that are not valid for the entity type, as Kafka's script does."""
    types = [part.type for part in changes.entity]
    if any(part.name is None for part in changes.entity):
        raise click.UsageError("An entity name must be specified for every entity type")
    known: tuple[str, ...] = QUOTAS
    what = "quota"
    if types[0] == IPS:
        known, what = (IP_QUOTAS, "connection quota")
    elif types == [USERS]:
        known, what = ((*QUOTAS, *SCRAM), "quota and SCRAM credential")
    for keys, verb in ((list(changes.to_set), "added"), (changes.to_delete, "deleted")):
        unknown = [key for key in keys if key not in known]
        if unknown:
            raise click.UsageError(
                f"Only {what} configs can be {verb} for '{types[0]}' using --bootstrap-server. "
                f"Unexpected config names: {', '.join(unknown)}"
            )
    if changes.of_scram:
        if any(not part.name for part in changes.entity):
            raise click.UsageError(
                "The use of --entity-default or --user-defaults is not allowed with User SCRAM Credentials using "
                "--bootstrap-server."
            )
        if any(key in QUOTAS for key in (*changes.to_set, *changes.to_delete)):
            raise click.UsageError(
                "Cannot alter both quota and SCRAM credential configs simultaneously for 'users' using "
                "--bootstrap-server."
            )


def credential(key: str, text: str) -> tuple[int, str]:
    """Parses ``iterations=8192,password=x``. Raises UsageError, whose message omits the text."""
    found = PASSWORD.fullmatch(text)
    if found is None:
        raise click.UsageError(f"Invalid credential property {key}: it must be [iterations=N,password=...]")
    iterations = LEAST_ITERATIONS if found[1] in (None, "", "-1") else int(found[1])
    if iterations < LEAST_ITERATIONS:
        raise click.UsageError(
            f"Iterations {iterations} is less than the minimum {LEAST_ITERATIONS} required for {key}"
        )
    return iterations, found[2]


def quota(key: str, text: str) -> float:
    """Parses the value of a quota. Raises UsageError."""
    try:
        return float(text)
    except ValueError:
        raise click.UsageError(f"Cannot parse quota configuration value for {key}: {text}") from None


async def alter_quotas(admin: ClientQuotaAdmin, changes: Changes) -> None:
    """Changes quotas. Raises CommandError if a quota to delete is not set."""
    set_quotas = {key: quota(key, text) for key, text in changes.to_set.items()}
    if changes.to_delete:
        found = await admin.describe_client_quotas(filters_of(changes.entity), strict=True)
        own = found[0].values if found else {}
        missing = [key for key in changes.to_delete if key not in own]
        if missing:
            raise CommandError(f"Invalid config(s): {','.join(missing)}")
    entity = {KINDS[part.type]: part.name or None for part in changes.entity}
    await admin.alter_client_quotas(entity, set_quotas=set_quotas, delete_quotas=changes.to_delete)


def upsertions_of(changes: Changes) -> list[scram_users.ScramUpsertion]:
    """The credentials to create or replace. Raises UsageError."""
    [(_, user)] = changes.entity
    made = []
    for key, text in changes.to_set.items():
        iterations, password = credential(key, text)
        made.append(scram_users.ScramUpsertion(user or "", key, password, iterations))
    return made


async def alter_credentials(admin: ScramUserAdmin, changes: Changes, upsertions: list[ScramUpsertion]) -> None:
    """Changes SCRAM credentials of one user."""
    [(_, user)] = changes.entity
    deletions = [scram_users.ScramDeletion(user or "", key) for key in changes.to_delete]
    await admin.alter_user_scram_credentials(upsertions, deletions)


def print_altered(changes: Changes, *, as_json: bool) -> None:
    """Prints the changes, without passwords."""
    kind, name = changes.entity[0]
    if as_json:
        entity = [{"type": KINDS[part.type], "name": part.name or None} for part in changes.entity]
        shown = {key: None if key in SCRAM else text for key, text in changes.to_set.items()}
        print_json({"entity": entity, "set": shown, "deleted": changes.to_delete})
    elif name:
        click.echo(f"Completed updating config for {kind.removesuffix('s')} {name}.")
    else:
        click.echo(f"Completed updating default config for {kind} in the cluster.")


def filters_of(entity: tuple[ClientEntity, ...]) -> list[client_quotas.QuotaFilter]:
    """The filter that finds the entity, or all entities of its types."""
    match = {None: client_quotas.ANY, "": client_quotas.DEFAULT}
    return [
        client_quotas.QuotaFilter(KINDS[part.type], match.get(part.name, client_quotas.EXACT), part.name)
        for part in entity
    ]


def with_credentials(entity: tuple[ClientEntity, ...]) -> bool:
    """Whether ``--describe`` also shows SCRAM credentials: only users have them, not clients and not the default."""
    return [part.type for part in entity] == [USERS] and entity[0].name != ""


async def describe_clients(
    quotas: ClientQuotaAdmin, users: ScramUserAdmin | None, entity: tuple[ClientEntity, ...], *, as_json: bool
) -> None:
    """``--describe``: prints the quotas, then the SCRAM credentials if ``users`` is given."""
    found = await quotas.describe_client_quotas(filters_of(entity), strict=True)
    document: dict[str, object] = {
        "quotas": [{"entity": described.entity, "configs": described.values} for described in found]
    }
    if not as_json:
        for described in found:
            names = [_shown(kind, described.entity[kind]) for kind in SHOWN if kind in described.entity]
            values = ", ".join(
                f"{key}={message_documents.java_double(value)}" for key, value in described.values.items()
            )
            click.echo(f"Quota configs for {', '.join(names)} are {values}")
    if users is not None:
        document["scramCredentials"] = await _describe_credentials(users, entity[0].name, as_json=as_json)
    if as_json:
        print_json(document)


async def _describe_credentials(users: ScramUserAdmin, name: str | None, *, as_json: bool) -> dict[str, object]:
    errors = {}
    try:
        described = await users.describe_user_scram_credentials(None if name is None else [name])
    except client_errors.AdminError as error:
        described, errors = dict(error.results), error.errors
    document: dict[str, object] = {}
    for user, credentials in described.items():
        document[user] = {credential.mechanism: {"iterations": credential.iterations} for credential in credentials}
        texts = ", ".join(f"{credential.mechanism}=iterations={credential.iterations}" for credential in credentials)
        if not as_json:
            click.echo(f"SCRAM credential configs for user-principal '{user}' are {texts}")
    for user, failure in errors.items():
        if failure.error_code.name == "RESOURCE_NOT_FOUND":
            continue  # a user without credentials is left out, as in Kafka's script
        text = java_error(failure.error_code, str(failure.args[-1]).removeprefix(f"'{user}': "))
        document[user] = {"error": failure.error_code.name}
        if not as_json:
            click.echo(
                f"Error retrieving SCRAM credential configs for user-principal '{user}': ExecutionException: {text}"
            )
    return document


def _shown(kind: str, name: str | None) -> str:
    return f"the default {SHOWN[kind]}" if name is None else f"{SHOWN[kind]} '{name}'"
