"""``odradek transactions``: what ``kafka-transactions.sh`` does, with its commands, flags and output (KIP-664).

Owns: the flags and the connection. The commands' modules send requests and print. Source: ``TransactionsCommand``.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

import click

from odradek.protocol.common.command_options import included, option, repeated, takes
from odradek.protocol.common.lazy_imports import lazy_imports

from ..abbreviations import AbbreviatedGroup
from ..command_config import admin_settings, command_config_option, command_property_option
from ..running import (
    BOOTSTRAP_VARIABLE,
    DEFAULT_BOOTSTRAP_SERVER,
    json_option,
    main,
    run,
    timeout_option,
)

with lazy_imports:
    from . import admin as transactions_admin
    from . import end, hanging, show

if TYPE_CHECKING:
    pass

Command = TypeVar("Command", bound=Callable[..., int])


def bootstrap_option() -> Any:
    """``--bootstrap-server``, which may stand before and after the subcommand's name, as a field of its options."""
    return option(
        "--bootstrap-server",
        envvar=BOOTSTRAP_VARIABLE,
        show_envvar=True,
        metavar="HOST:PORT,...",
        help=f"One or more brokers of the cluster; default {DEFAULT_BOOTSTRAP_SERVER}.",
    )


@dataclass(frozen=True, kw_only=True)
class BrokerOptions:
    """The broker's address and the client's settings, before the subcommand's name."""

    bootstrap_server: str | None = bootstrap_option()
    command_config: str | None = command_config_option()
    command_property: None = command_property_option()


@dataclass(frozen=True, kw_only=True)
class CommonOptions:
    """The options that every subcommand has."""

    as_json: bool = json_option()
    timeout_ms: int = timeout_option()
    command_config: str | None = command_config_option()
    command_property: None = command_property_option()
    bootstrap_server: str | None = bootstrap_option()


@dataclass(frozen=True, kw_only=True)
class PartitionOptions:
    """The partition of a subcommand that works on one."""

    topic: str = option("--topic", required=True, help="The topic.")
    partition: int = option("--partition", type=int, required=True, metavar="N", help="The partition of the topic.")


@click.group(
    cls=AbbreviatedGroup,
    help="Show transactions; find and end hanging ones.",
    context_settings={"help_option_names": ["-h", "--help"]},
)
@takes(BrokerOptions)
def command(options: BrokerOptions) -> None:
    """Stores the options before the subcommand's name for the subcommand."""
    click.get_current_context().obj = options


def ask(
    options: CommonOptions, work: Callable[[transactions_admin.TransactionsAdmin, bool], Awaitable[int | None]]
) -> int:
    """Connects an admin client with the options and runs ``work`` with it, and with whether to print JSON."""
    before: BrokerOptions = click.get_current_context().obj
    server = options.bootstrap_server or before.bootstrap_server or DEFAULT_BOOTSTRAP_SERVER

    async def connected() -> int | None:
        settings = admin_settings(options.command_config or before.command_config, options.timeout_ms)
        async with transactions_admin.TransactionsAdmin(server, **settings._asdict()) as admin:
            return await work(admin, options.as_json)

    return run(connected)


@dataclass(frozen=True, kw_only=True)
class ListOptions:
    """The arguments of ``list``."""

    duration_filter: int | None = option(
        "--duration-filter",
        type=int,
        metavar="MS",
        help="Only transactions that are open for longer than this; negative: all.",
    )
    transactional_id_pattern: str | None = option(
        "--transactional-id-pattern", metavar="REGEX", help="Only transactional ids that match as a whole (RE2)."
    )
    states: tuple[str, ...] = repeated("--state", metavar="NAME,...", help="Only these states, such as Ongoing.")
    producer_ids: tuple[int, ...] = repeated("--producer-id", type=int, metavar="N", help="Only this producer id.")
    common: CommonOptions = included(CommonOptions)


@command.command("list", help="List transactional ids: all, or those that match the filters.")
@takes(ListOptions)
def list_(options: ListOptions) -> int:
    """``list``: prints the transactions that match. Returns the exit code."""
    states = show.check_states(options.states)
    return ask(
        options.common,
        lambda admin, as_json: show.print_list(
            admin,
            states=states,
            producer_ids=options.producer_ids,
            running_longer_than_ms=options.duration_filter,
            transactional_id_pattern=options.transactional_id_pattern,
            as_json=as_json,
        ),
    )


@dataclass(frozen=True, kw_only=True)
class DescribeTransactionOptions:
    """The arguments of ``describe``."""

    transactional_id: str = option("--transactional-id", required=True, help="The transactional id.")
    common: CommonOptions = included(CommonOptions)


@command.command("describe", help="Show the state of a transactional id and the partitions of its transaction.")
@takes(DescribeTransactionOptions)
def describe(options: DescribeTransactionOptions) -> int:
    """``describe``: prints one transaction. Returns the exit code."""
    return ask(
        options.common, lambda admin, as_json: show.print_description(admin, options.transactional_id, as_json=as_json)
    )


@dataclass(frozen=True, kw_only=True)
class DescribeProducersOptions:
    """The arguments of ``describe-producers``."""

    broker_id: int | None = option(
        "--broker-id", type=int, metavar="ID", help="Query the replica on this broker. Default: the leader."
    )
    at: PartitionOptions = included(PartitionOptions)
    common: CommonOptions = included(CommonOptions)


@command.command("describe-producers", help="Show the producer state of a partition.")
@takes(DescribeProducersOptions)
def describe_producers(options: DescribeProducersOptions) -> int:
    """``describe-producers``: prints the producer state of a partition. Returns the exit code."""
    return ask(
        options.common,
        lambda admin, as_json: show.print_producers(
            admin, (options.at.topic, options.at.partition), options.broker_id, as_json=as_json
        ),
    )


@dataclass(frozen=True, kw_only=True)
class AbortOptions:
    """The arguments of ``abort``."""

    at: PartitionOptions = included(PartitionOptions)
    start_offset: int | None = option(
        "--start-offset", type=int, metavar="N", help="The first offset of the transaction, as find-hanging shows it."
    )
    producer_id: int | None = option(
        "--producer-id",
        type=int,
        metavar="N",
        help="For brokers before Kafka 3.0, instead of --start-offset: the producer id.",
    )
    producer_epoch: int | None = option(
        "--producer-epoch", type=int, metavar="N", help="With --producer-id: the producer's epoch."
    )
    coordinator_epoch: int | None = option(
        "--coordinator-epoch", type=int, metavar="N", help="With --producer-id: the coordinator's epoch."
    )
    common: CommonOptions = included(CommonOptions)


@command.command("abort", help="Abort a hanging transaction in a partition, without its coordinator.")
@takes(AbortOptions)
def abort(options: AbortOptions) -> int:
    """``abort``: aborts a hanging transaction on one partition, without its coordinator. Returns the exit code."""
    at, start_offset = (options.at.topic, options.at.partition), options.start_offset
    if start_offset is not None:
        return ask(options.common, lambda admin, as_json: end.abort_at(admin, at, start_offset, as_json=as_json))
    if options.producer_id is None:
        raise click.UsageError(
            "The transaction to abort must be identified either with --start-offset (for brokers on 3.0 or above) or "
            "with --producer-id, --producer-epoch, and --coordinator-epoch (for older brokers)"
        )
    for name, value in (
        ("--producer-epoch", options.producer_epoch),
        ("--coordinator-epoch", options.coordinator_epoch),
    ):
        if value is None:
            raise click.UsageError(f"Missing required argument {name}")
    producer = end.TransactionProducer(options.producer_id, options.producer_epoch or 0, options.coordinator_epoch or 0)
    return ask(options.common, lambda admin, as_json: end.abort_producer(admin, at, producer, as_json=as_json))


@dataclass(frozen=True, kw_only=True)
class FindHangingOptions:
    """The arguments of ``find-hanging``."""

    broker_id: int | None = option("--broker-id", type=int, metavar="ID", help="Search the partitions of this broker.")
    max_transaction_timeout: int = option(
        "--max-transaction-timeout",
        type=int,
        default=15,
        show_default=True,
        metavar="MINUTES",
        help="Ignore transactions with a newer record: their coordinator may still end them.",
    )
    topic: str | None = option("--topic", help="Search only this topic.")
    partition: int | None = option("--partition", type=int, metavar="N", help="Search only this partition of --topic.")
    common: CommonOptions = included(CommonOptions)


@command.command("find-hanging", help="Find transactions that no coordinator will end.")
@takes(FindHangingOptions)
def find_hanging(options: FindHangingOptions) -> int:
    """``find-hanging``: prints the open transactions that no coordinator will end. Returns the exit code."""
    if options.topic is None and options.broker_id is None:
        raise click.UsageError("find-hanging requires either --topic or --broker-id to limit the scope of the search")
    if options.partition is not None and options.topic is None:
        raise click.UsageError("The --partition argument requires --topic to be provided")
    scope = hanging.Scope(options.broker_id, options.topic, options.partition, options.max_transaction_timeout * 60_000)
    return ask(options.common, lambda admin, as_json: hanging.print_hanging(admin, scope, as_json=as_json))


@dataclass(frozen=True, kw_only=True)
class ForceTerminateOptions:
    """The arguments of ``forceTerminateTransaction``."""

    transactional_id: str = option(
        "--transactionalId", "--transactional-id", required=True, help="The transactional id."
    )
    common: CommonOptions = included(CommonOptions)


@command.command("forceTerminateTransaction", help="End the open transaction of an id and fence its producer.")
@takes(ForceTerminateOptions)
def force_terminate(options: ForceTerminateOptions) -> int:
    """``forceTerminateTransaction``: makes the coordinator abort a transaction. Returns the exit code."""
    return ask(options.common, lambda admin, as_json: end.terminate(admin, options.transactional_id, as_json=as_json))


def transactions(arguments: list[str]) -> int:
    """Entry point: takes the arguments after ``odradek transactions``, returns the exit code."""
    return main(command, "transactions", arguments)
