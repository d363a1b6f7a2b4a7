"""``odradek transactions``: what ``kafka-transactions.sh`` does, with its commands, flags and output (KIP-664).

Owns: the flags and the connection. The commands' modules send requests and print. Source: ``TransactionsCommand``.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import click

from ..abbreviations import AbbreviatedGroup
from ..command_config import admin_settings, command_config_option
from ..running import (
    BOOTSTRAP_VARIABLE,
    DEFAULT_BOOTSTRAP_SERVER,
    json_option,
    main,
    run,
    timeout_option,
)

if TYPE_CHECKING:
    from .admin import TransactionsAdmin

Command = TypeVar("Command", bound=Callable[..., int])


class BrokerOptions(NamedTuple):
    """The broker's address and the client's settings."""

    bootstrap_server: str
    command_config: str | None


bootstrap_option = click.option(
    "--bootstrap-server",
    "bootstrap_server",
    envvar=BOOTSTRAP_VARIABLE,
    show_envvar=True,
    metavar="HOST:PORT,...",
    help=f"One or more brokers of the cluster; default {DEFAULT_BOOTSTRAP_SERVER}.",
)
topic_option = click.option("--topic", required=True, help="The topic.")
partition_option = click.option("--partition", type=int, required=True, metavar="N", help="The partition of the topic.")


@click.group(
    cls=AbbreviatedGroup,
    help="Show transactions; find and end hanging ones.",
    context_settings={"help_option_names": ["-h", "--help"]},
)
@bootstrap_option
@command_config_option
@click.pass_context
def command(context: click.Context, bootstrap_server: str | None, command_config: str | None) -> None:
    """Stores the options before the subcommand's name for the subcommand."""
    context.obj = BrokerOptions(bootstrap_server or DEFAULT_BOOTSTRAP_SERVER, command_config)


def options_of_all(function: Command) -> Command:
    """Adds the options that every subcommand has. Those for the broker may also come before the subcommand's name."""
    for option in (bootstrap_option, command_config_option, timeout_option, json_option):
        function = option(function)
    return function


def ask(
    bootstrap_server: str | None,
    command_config: str | None,
    timeout_ms: int,
    work: Callable[[TransactionsAdmin], Awaitable[int | None]],
) -> int:
    """Connects an admin client with the options and runs ``work`` with it."""
    before: BrokerOptions = click.get_current_context().obj
    server = bootstrap_server or before.bootstrap_server

    async def connected() -> int | None:
        from .admin import TransactionsAdmin

        settings = admin_settings(command_config or before.command_config, timeout_ms)
        async with TransactionsAdmin(server, **settings._asdict()) as admin:
            return await work(admin)

    return run(connected)


@command.command("list", help="List transactional ids: all, or those that match the filters.")
@click.option(
    "--duration-filter",
    type=int,
    metavar="MS",
    help="Only transactions that are open for longer than this; negative: all.",
)
@click.option("--transactional-id-pattern", metavar="REGEX", help="Only transactional ids that match as a whole (RE2).")
@click.option("--state", "states", multiple=True, metavar="NAME,...", help="Only these states, such as Ongoing.")
@click.option("--producer-id", "producer_ids", multiple=True, type=int, metavar="N", help="Only this producer id.")
@options_of_all
def list_(
    duration_filter: int | None,
    transactional_id_pattern: str | None,
    states: tuple[str, ...],
    producer_ids: tuple[int, ...],
    **common: Any,
) -> int:
    """``list``: prints the transactions that match. Returns the exit code."""
    from .show import check_states, print_list

    wanted = check_states(states)
    return _ask(
        common,
        lambda admin, as_json: print_list(
            admin,
            states=wanted,
            producer_ids=producer_ids,
            running_longer_than_ms=duration_filter,
            transactional_id_pattern=transactional_id_pattern,
            as_json=as_json,
        ),
    )


@command.command("describe", help="Show the state of a transactional id and the partitions of its transaction.")
@click.option("--transactional-id", required=True, help="The transactional id.")
@options_of_all
def describe(transactional_id: str, **common: Any) -> int:
    """``describe``: prints one transaction. Returns the exit code."""
    from .show import print_description

    return _ask(common, lambda admin, as_json: print_description(admin, transactional_id, as_json=as_json))


@command.command("describe-producers", help="Show the producer state of a partition.")
@click.option("--broker-id", type=int, metavar="ID", help="Query the replica on this broker. Default: the leader.")
@topic_option
@partition_option
@options_of_all
def describe_producers(broker_id: int | None, topic: str, partition: int, **common: Any) -> int:
    """``describe-producers``: prints the producer state of a partition. Returns the exit code."""
    from .show import print_producers

    return _ask(common, lambda admin, as_json: print_producers(admin, (topic, partition), broker_id, as_json=as_json))


@command.command("abort", help="Abort a hanging transaction in a partition, without its coordinator.")
@topic_option
@partition_option
@click.option(
    "--start-offset", type=int, metavar="N", help="The first offset of the transaction, as find-hanging shows it."
)
@click.option(
    "--producer-id",
    type=int,
    metavar="N",
    help="For brokers before Kafka 3.0, instead of --start-offset: the producer id.",
)
@click.option("--producer-epoch", type=int, metavar="N", help="With --producer-id: the producer's epoch.")
@click.option("--coordinator-epoch", type=int, metavar="N", help="With --producer-id: the coordinator's epoch.")
@options_of_all
def abort(
    topic: str,
    partition: int,
    start_offset: int | None,
    producer_id: int | None,
    producer_epoch: int | None,
    coordinator_epoch: int | None,
    **common: Any,
) -> int:
    """``abort``: aborts a hanging transaction on one partition, without its coordinator. Returns the exit code."""
    from .end import TransactionProducer, abort_at, abort_producer

    if start_offset is not None:
        return _ask(common, lambda admin, as_json: abort_at(admin, (topic, partition), start_offset, as_json=as_json))
    if producer_id is None:
        raise click.UsageError(
            "The transaction to abort must be identified either with --start-offset (for brokers on 3.0 or above) or "
            "with --producer-id, --producer-epoch, and --coordinator-epoch (for older brokers)"
        )
    for name, value in (("--producer-epoch", producer_epoch), ("--coordinator-epoch", coordinator_epoch)):
        if value is None:
            raise click.UsageError(f"Missing required argument {name}")
    producer = TransactionProducer(producer_id, producer_epoch or 0, coordinator_epoch or 0)
    return _ask(common, lambda admin, as_json: abort_producer(admin, (topic, partition), producer, as_json=as_json))


@command.command("find-hanging", help="Find transactions that no coordinator will end.")
@click.option("--broker-id", type=int, metavar="ID", help="Search the partitions of this broker.")
@click.option(
    "--max-transaction-timeout",
    type=int,
    default=15,
    show_default=True,
    metavar="MINUTES",
    help="Ignore transactions with a newer record: their coordinator may still end them.",
)
@click.option("--topic", help="Search only this topic.")
@click.option("--partition", type=int, metavar="N", help="Search only this partition of --topic.")
@options_of_all
def find_hanging(
    broker_id: int | None, max_transaction_timeout: int, topic: str | None, partition: int | None, **common: Any
) -> int:
    """``find-hanging``: prints the open transactions that no coordinator will end. Returns the exit code."""
    from .hanging import Scope, print_hanging

    if topic is None and broker_id is None:
        raise click.UsageError("find-hanging requires either --topic or --broker-id to limit the scope of the search")
    if partition is not None and topic is None:
        raise click.UsageError("The --partition argument requires --topic to be provided")
    scope = Scope(broker_id, topic, partition, max_transaction_timeout * 60_000)
    return _ask(common, lambda admin, as_json: print_hanging(admin, scope, as_json=as_json))


@command.command("forceTerminateTransaction", help="End the open transaction of an id and fence its producer.")
@click.option(
    "--transactionalId", "--transactional-id", "transactional_id", required=True, help="The transactional id."
)
@options_of_all
def force_terminate(transactional_id: str, **common: Any) -> int:
    """``forceTerminateTransaction``: makes the coordinator abort a transaction. Returns the exit code."""
    from .end import terminate

    return _ask(common, lambda admin, as_json: terminate(admin, transactional_id, as_json=as_json))


def _ask(common: dict[str, Any], work: Callable[[TransactionsAdmin, bool], Awaitable[int | None]]) -> int:
    return ask(
        common["bootstrap_server"],
        common["command_config"],
        common["timeout_ms"],
        lambda admin: work(admin, bool(common["as_json"])),
    )


def transactions(arguments: list[str]) -> int:
    """Entry point: takes the arguments after ``odradek transactions``, returns the exit code."""
    return main(command, "transactions", arguments)
