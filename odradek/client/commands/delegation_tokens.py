"""``odradek delegation-tokens``: what ``kafka-delegation-tokens.sh`` does, with its flags and output.

``--create`` and ``--describe`` print the HMACs of tokens although they are passwords, because users need them. Unlike
Kafka's script, ``--renew`` and ``--expire`` do not print the HMAC that they were given.
"""

from __future__ import annotations

import base64
import binascii
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from .command_config import admin_settings, command_config_option
from .kafka_command import KafkaCommand
from .output import print_json
from .running import bootstrap_option, exactly_one, json_option, main, run, timeout_option

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
period = partial(click.option, type=int, metavar="MS")


@click.command(
    cls=KafkaCommand,
    refused=REFUSED,
    help="Create, renew, expire or describe delegation tokens.",
    context_settings={"help_option_names": ["-h", "--help"]},
)
@bootstrap_option
@command_config_option
@click.option("--create", is_flag=True, help="Create a token; needs --max-life-time-period.")
@click.option("--renew", is_flag=True, help="Renew a token; needs --hmac and --renew-time-period.")
@click.option("--expire", is_flag=True, help="Set when a token expires; needs --hmac and --expiry-time-period.")
@click.option(
    "--describe",
    is_flag=True,
    help="Show the tokens of --owner-principal that the user may see; without an owner none, as in Kafka.",
)
@click.option(
    "--owner-principal",
    multiple=True,
    metavar="TYPE:NAME",
    help="The owner of the new token; with --describe: show only tokens of this owner.",
)
@click.option("--renewer-principal", multiple=True, metavar="TYPE:NAME", help="Who may renew the token.")
@period("--max-life-time-period", help="The maximum lifetime of the token; -1: the brokers' maximum.")
@period("--renew-time-period", help="How long the token is valid from now; -1: the brokers' default.")
@period("--expiry-time-period", help="How long the token is valid from now; -1: it expires at once.")
@click.option("--hmac", metavar="BASE64", help="The HMAC of the token.")
@timeout_option
@json_option
def command(
    bootstrap_server: str,
    command_config: str | None,
    timeout_ms: int,
    as_json: bool,
    **given: Any,
) -> int:
    """Checks the options and runs the action."""
    action = exactly_one({name: given.pop(name) for name in ACTIONS})
    for name in NEEDED[action]:
        if given[name] is None:
            raise click.UsageError(f'Missing required argument "[{name.replace("_", "-")}]"')
    for principal in (*given["owner_principal"], *given["renewer_principal"]):
        if ":" not in principal:
            raise click.UsageError(f"expected a string in format principalType:principalName but got {principal}")
    hmac = hmac_of(given["hmac"]) if given["hmac"] is not None else b""
    settings = admin_settings(command_config, timeout_ms)

    async def work() -> None:
        from ..admin.delegation_tokens import DelegationTokenAdmin

        async with DelegationTokenAdmin(bootstrap_server, **settings._asdict()) as admin:
            if action == "create":
                await create(admin, given, as_json=as_json)
            elif action == "describe":
                await describe(admin, list(given["owner_principal"]), as_json=as_json)
            else:
                await change(admin, action, hmac, given, as_json=as_json)

    return run(work)


def hmac_of(text: str) -> bytes:
    """Decodes ``--hmac``. Raises UsageError, whose message omits the text."""
    try:
        return base64.b64decode(text, validate=True)
    except binascii.Error as error:
        raise click.UsageError(f"--hmac is not Base64: {error}") from None


async def create(admin: DelegationTokenAdmin, given: dict[str, Any], *, as_json: bool) -> None:
    """``--create``: creates a token and prints it."""
    renewers, lifetime_ms = given["renewer_principal"], given["max_life_time_period"]
    if not as_json:
        click.echo(
            f"Calling create token operation with renewers :[{', '.join(renewers)}] , "
            f"max-life-time-period :{lifetime_ms}"
        )
    owner = next(iter(given["owner_principal"]), None)
    token = await admin.create_delegation_token(owner=owner, renewers=renewers, max_lifetime_ms=lifetime_ms)
    if as_json:
        print_json(token_document(token))
        return
    click.echo(f"Created delegation token with tokenId : {token.token_id}")
    print_tokens([token])


async def describe(admin: DelegationTokenAdmin, owners: list[str], *, as_json: bool) -> None:
    """``--describe``: prints the tokens of the owners. An empty list finds no token, as in Kafka."""
    if not as_json:
        if owners:
            click.echo(f"Calling describe token operation for owners: [{', '.join(owners)}]")
        else:
            click.echo("Calling describe token operation for current user.")
    tokens = await admin.describe_delegation_tokens(owners)
    if as_json:
        print_json([token_document(token) for token in tokens])
        return
    click.echo(f"Total number of tokens : {len(tokens)}", nl=False)
    print_tokens(tokens)


async def change(
    admin: DelegationTokenAdmin, action: str, hmac: bytes, given: dict[str, Any], *, as_json: bool
) -> None:
    """``--renew`` and ``--expire``."""
    if action == "renew":
        period_ms = given["renew_time_period"]
        shown = f"renew-time-period :{period_ms}"
    else:
        period_ms = given["expiry_time_period"]
        shown = f"expire-time-period :{period_ms}"
    if not as_json:
        click.echo(f"Calling {action} token operation with {shown}")
    if action == "renew":
        expiry_ms = await admin.renew_delegation_token(hmac, renew_period_ms=period_ms)
    else:
        expiry_ms = await admin.expire_delegation_token(hmac, expiry_time_period_ms=period_ms)
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
