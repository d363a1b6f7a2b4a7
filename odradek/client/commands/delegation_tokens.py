"""``odradek delegation-tokens``: what ``kafka-delegation-tokens.sh`` does, with its flags and output.

``--create`` and ``--describe`` print the HMACs of tokens although they are passwords, because users need them. Unlike
Kafka's script, ``--renew`` and ``--expire`` do not print the HMAC that they were given.
"""

from __future__ import annotations

import base64
import binascii
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

import click

from odradek.protocol.common.command_options import flag, included, option, repeated, takes
from odradek.protocol.common.lazy_imports import lazy_imports

from .command_config import ConnectionOptions
from .kafka_command import KafkaCommand
from .output import print_json
from .running import exactly_one, json_option, main, run, timeout_option

with lazy_imports:
    from ..admin import delegation_tokens as admin_delegation_tokens

if TYPE_CHECKING:
    from ..admin.delegation_tokens import DelegationTokenAdmin, IssuedToken

ACTIONS = ("create", "renew", "expire", "describe")
NEEDED = {
    "create": ("max_life_time_period",),
    "renew": ("hmac", "renew_time_period"),
    "expire": ("hmac", "expiry_time_period"),
    "describe": (),
}
REFUSED = {
    "create": ("hmac", "renew-time-period", "expiry-time-period"),
    "renew": ("renewer-principal", "max-life-time-period", "expiry-time-period", "owner-principal"),
    "expire": ("max-life-time-period", "renew-time-period", "owner-principal"),
    "describe": ("renew-time-period", "max-life-time-period", "hmac", "expiry-time-period"),
}
"""NEEDED: action -> options that it requires. REFUSED: action -> options that Kafka's script refuses with it."""
COLUMNS = ("TOKENID", "HMAC", "OWNER", "REQUESTER", "RENEWERS", "ISSUEDATE", "EXPIRYDATE", "MAXDATE")
ROW = "{:<15} {:<30} {:<15} {:<15} {:<25} {:<15} {:<15} {:<15}"


@dataclass(frozen=True, kw_only=True)
class DelegationTokenOptions:
    """The arguments of the command."""

    connection: ConnectionOptions = included(ConnectionOptions)
    create: bool = flag("--create", help="Create a token; needs --max-life-time-period.")
    renew: bool = flag("--renew", help="Renew a token; needs --hmac and --renew-time-period.")
    expire: bool = flag("--expire", help="Set when a token expires; needs --hmac and --expiry-time-period.")
    describe: bool = flag(
        "--describe",
        help="Show the tokens of --owner-principal that the user may see; without an owner none, as in Kafka.",
    )
    owner_principal: tuple[str, ...] = repeated(
        "--owner-principal",
        metavar="TYPE:NAME",
        help="The owner of the new token; with --describe: show only tokens of this owner.",
    )
    renewer_principal: tuple[str, ...] = repeated(
        "--renewer-principal", metavar="TYPE:NAME", help="Who may renew the token."
    )
    max_life_time_period: int | None = option(
        "--max-life-time-period",
        type=int,
        metavar="MS",
        help="The maximum lifetime of the token; -1: the brokers' maximum.",
    )
    renew_time_period: int | None = option(
        "--renew-time-period",
        type=int,
        metavar="MS",
        help="How long the token is valid from now; -1: the brokers' default.",
    )
    expiry_time_period: int | None = option(
        "--expiry-time-period",
        type=int,
        metavar="MS",
        help="How long the token is valid from now; -1: it expires at once.",
    )
    hmac: str | None = option("--hmac", metavar="BASE64", help="The HMAC of the token.")
    timeout_ms: int = timeout_option()
    as_json: bool = json_option()


@click.command(
    cls=KafkaCommand,
    refused=REFUSED,
    help="Create, renew, expire or describe delegation tokens.",
    context_settings={"help_option_names": ["-h", "--help"]},
)
@takes(DelegationTokenOptions)
def command(options: DelegationTokenOptions) -> int:
    """Checks the options and runs the action."""
    action = exactly_one({name: getattr(options, name) for name in ACTIONS})
    for name in NEEDED[action]:
        if getattr(options, name) is None:
            raise click.UsageError(f'Missing required argument "[{name.replace("_", "-")}]"')
    for principal in (*options.owner_principal, *options.renewer_principal):
        if ":" not in principal:
            raise click.UsageError(f"expected a string in format principalType:principalName but got {principal}")
    hmac = hmac_of(options.hmac) if options.hmac is not None else b""

    async def work() -> None:
        async with options.connection.admin(admin_delegation_tokens.DelegationTokenAdmin, options.timeout_ms) as admin:
            if action == "create":
                await create(admin, options)
            elif action == "describe":
                await describe(admin, options)
            elif action == "renew":
                await renew(admin, hmac, options)
            else:
                await expire(admin, hmac, options)

    return run(work)


def hmac_of(text: str) -> bytes:
    """Decodes ``--hmac``. Raises UsageError, whose message omits the text."""
    try:
        return base64.b64decode(text, validate=True)
    except binascii.Error as error:
        raise click.UsageError(f"--hmac is not Base64: {error}") from None


async def create(admin: DelegationTokenAdmin, options: DelegationTokenOptions) -> None:
    """``--create``: creates a token and prints it."""
    renewers, lifetime_ms = options.renewer_principal, options.max_life_time_period
    assert lifetime_ms is not None
    if not options.as_json:
        click.echo(
            f"Calling create token operation with renewers :[{', '.join(renewers)}] , "
            f"max-life-time-period :{lifetime_ms}"
        )
    owner = next(iter(options.owner_principal), None)
    token = await admin.create_delegation_token(owner=owner, renewers=renewers, max_lifetime_ms=lifetime_ms)
    if options.as_json:
        print_json(token_document(token))
        return
    click.echo(f"Created delegation token with tokenId : {token.token_id}")
    print_tokens([token])


async def describe(admin: DelegationTokenAdmin, options: DelegationTokenOptions) -> None:
    """``--describe``: prints the tokens of the owners. An empty list finds no token, as in Kafka."""
    owners = list(options.owner_principal)
    if not options.as_json:
        if owners:
            click.echo(f"Calling describe token operation for owners: [{', '.join(owners)}]")
        else:
            click.echo("Calling describe token operation for current user.")
    tokens = await admin.describe_delegation_tokens(owners)
    if options.as_json:
        print_json([token_document(token) for token in tokens])
        return
    click.echo(f"Total number of tokens : {len(tokens)}", nl=False)
    print_tokens(tokens)


async def renew(admin: DelegationTokenAdmin, hmac: bytes, options: DelegationTokenOptions) -> None:
    """``--renew``: renews the token and prints when it expires."""
    period_ms = options.renew_time_period
    assert period_ms is not None
    if not options.as_json:
        click.echo(f"Calling renew token operation with renew-time-period :{period_ms}")
    expiry_ms = await admin.renew_delegation_token(hmac, renew_period_ms=period_ms)
    print_expiry("renew", expiry_ms, as_json=options.as_json)


async def expire(admin: DelegationTokenAdmin, hmac: bytes, options: DelegationTokenOptions) -> None:
    """``--expire``: changes when the token expires, and prints it."""
    period_ms = options.expiry_time_period
    assert period_ms is not None
    if not options.as_json:
        click.echo(f"Calling expire token operation with expire-time-period :{period_ms}")
    expiry_ms = await admin.expire_delegation_token(hmac, expiry_time_period_ms=period_ms)
    print_expiry("expire", expiry_ms, as_json=options.as_json)


def print_expiry(action: str, expiry_ms: int, *, as_json: bool) -> None:
    """Prints when a token expires after the action."""
    if as_json:
        print_json({"expiryTimestampMs": expiry_ms})
    else:
        click.echo(f"Completed {action} operation. New expiry date : {local_minute(expiry_ms)}")


def print_tokens(tokens: list[IssuedToken]) -> None:
    """Prints Kafka's table, with an empty line before each row."""
    rows: list[tuple[str, ...]] = [COLUMNS]
    for token in tokens:
        dates = [local_minute(time_ms) for time_ms in (token.issue_ms, token.expiry_ms, token.max_ms)]
        hmac = base64.b64encode(token.hmac).decode()
        renewers = "[" + ", ".join(token.renewers) + "]"
        rows.append((token.token_id, hmac, token.owner, token.requester, renewers, *dates))
    for row in rows:
        click.echo("\n" + ROW.format(*row))


def local_minute(time_ms: int) -> str:
    """``2026-01-31T12:00`` in the local time zone."""
    return datetime.fromtimestamp(time_ms / 1000).strftime("%Y-%m-%dT%H:%M")


def token_document(token: IssuedToken) -> dict[str, object]:
    """A token for JSON."""
    return {
        "tokenId": token.token_id,
        "hmac": base64.b64encode(token.hmac).decode(),
        "owner": token.owner,
        "requester": token.requester,
        "renewers": list(token.renewers),
        "issueTimestampMs": token.issue_ms,
        "expiryTimestampMs": token.expiry_ms,
        "maxTimestampMs": token.max_ms,
    }


def delegation_tokens(arguments: list[str]) -> int:
    """Entry point: takes the arguments after ``odradek delegation-tokens``, returns the exit code."""
    return main(command, "delegation-tokens", arguments)
