"""``odradek reassign-partitions``: the flags, and the actions with which they are allowed."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, TextIO

import click
from click.core import ParameterSource

from odradek.protocol.common.command_options import flag, option, takes
from odradek.protocol.common.lazy_imports import lazy_imports

from ..command_config import admin_settings, command_config_option, command_property_option
from ..kafka_command import KafkaCommand
from ..running import bootstrap_option, exactly_one, main, run

with lazy_imports:
    from . import actions, generate
    from . import admin as reassign_admin
    from . import plan as reassign_plan

if TYPE_CHECKING:
    from .admin import ReassignAdmin

    Action = Callable[[ReassignAdmin], Awaitable[None]]

API_TIMEOUT_MS = 60_000
OF_EXECUTE = {
    "reassignment_json_file", "additional", "throttle", "replica_alter_log_dirs_throttle", "timeout_ms",
    "disallow_replication_factor_change",
}  # fmt: skip
PERMITTED = {
    "generate": {"topics_to_move_json_file", "broker_list", "disable_rack_aware"},
    "execute": OF_EXECUTE,
    "verify": {"reassignment_json_file", "preserve_throttles"},
    "cancel": {"reassignment_json_file", "preserve_throttles", "timeout_ms", "bootstrap_controller"},
    "list": {"bootstrap_controller"},
}
"""Action -> the parameters that are allowed with it, in addition to those for the connection."""
RATE = click.IntRange(min=-1)


@dataclass(frozen=True, kw_only=True)
class ReassignOptions:
    """The arguments of the command."""

    bootstrap_server: str = bootstrap_option()
    bootstrap_controller: str | None = option(
        "--bootstrap-controller",
        metavar="HOST:PORT,...",
        help="Controllers to use instead of brokers, with --list or --cancel.",
    )
    command_config: str | None = command_config_option()
    command_property: None = command_property_option()
    generate_: bool = flag("--generate", help="Propose an assignment of topics to brokers; change nothing.")
    execute_: bool = flag("--execute", help="Start the reassignment in the file.")
    verify_: bool = flag("--verify", help="Show the progress; remove the throttles if all is complete.")
    cancel_: bool = flag("--cancel", help="Cancel the reassignment in the file.")
    list_: bool = flag("--list", help="List all ongoing reassignments.")
    reassignment_json_file: TextIO | None = option(
        "--reassignment-json-file",
        type=click.File(encoding="utf-8"),
        metavar="FILE",
        help="The file with the reassignment.",
    )
    topics_to_move_json_file: TextIO | None = option(
        "--topics-to-move-json-file",
        type=click.File(encoding="utf-8"),
        metavar="FILE",
        help='With --generate: the topics, {"topics": [{"topic": "foo"}], "version": 1}.',
    )
    broker_list: str | None = option("--broker-list", metavar="N,...", help="With --generate: the brokers.")
    disable_rack_aware: bool = flag("--disable-rack-aware", help="With --generate: ignore the brokers' racks.")
    additional: bool = flag("--additional", help="With --execute: add to ongoing reassignments.")
    throttle: int = option(
        "--throttle", type=RATE, default=-1, metavar="BYTES/S", help="A limit on moves between brokers."
    )
    replica_alter_log_dirs_throttle: int = option(
        "--replica-alter-log-dirs-throttle",
        type=RATE,
        default=-1,
        metavar="BYTES/S",
        help="A limit on moves between the log directories of a broker.",
    )
    timeout_ms: int = option(
        "--timeout",
        type=click.IntRange(min=0),
        default=10_000,
        show_default=True,
        metavar="MS",
        help="How long to wait for moves between log directories to start.",
    )
    preserve_throttles: bool = flag("--preserve-throttles", help="Do not change the throttles.")
    disallow_replication_factor_change: bool = flag(
        "--disallow-replication-factor-change", help="Refuse to change the number of replicas."
    )


@click.command(
    cls=KafkaCommand,
    help="Move partitions to other brokers or log directories.",
    context_settings={"help_option_names": ["-h", "--help"]},
)
@takes(ReassignOptions)
def command(options: ReassignOptions) -> int:
    """Checks the arguments and runs the action."""
    action = exactly_one({name: getattr(options, f"{name}_") for name in PERMITTED})
    check_permitted(action)
    act = generation(options) if action == "generate" else action_of(action, options)

    async def work() -> int | None:
        settings = admin_settings(options.command_config, API_TIMEOUT_MS)
        at = {"bootstrap_controllers": options.bootstrap_controller, **settings._asdict()}
        async with reassign_admin.ReassignAdmin(options.bootstrap_server, **at) as admin:
            await act(admin)
        return 0

    return run(work)


def generation(options: ReassignOptions) -> Action:
    """The function for ``--generate``, with its arguments. Raises UsageError, CommandError."""
    if options.topics_to_move_json_file is None:
        raise click.UsageError('Missing required argument "[topics-to-move-json-file]"')
    if options.broker_list is None:
        raise click.UsageError('Missing required argument "[broker-list]"')
    brokers, topics = (
        generate.parse_brokers(options.broker_list),
        generate.parse_topics(options.topics_to_move_json_file.read()),
    )
    return partial(generate.generate, topics=topics, brokers=brokers, rack_aware=not options.disable_rack_aware)


def action_of(action: str, options: ReassignOptions) -> Action:
    """The function for an action except ``--generate``, with its arguments. Raises UsageError, CommandError."""
    if action == "list":
        return actions.print_list
    if options.reassignment_json_file is None:
        raise click.UsageError('Missing required argument "[reassignment-json-file]"')
    plan = reassign_plan.parse_plan(options.reassignment_json_file.read())
    if action == "verify":
        return partial(actions.verify, plan=plan, preserve_throttles=options.preserve_throttles)
    if action == "cancel":
        return partial(
            actions.cancel, plan=plan, preserve_throttles=options.preserve_throttles, timeout_ms=options.timeout_ms
        )
    execution = actions.Execution(
        options.additional,
        options.throttle,
        options.replica_alter_log_dirs_throttle,
        options.timeout_ms,
        not options.disallow_replication_factor_change,
    )
    return partial(actions.execute, plan=plan, options=execution)


def check_permitted(action: str) -> None:
    """Raises UsageError if an option is not allowed with the action."""
    context = click.get_current_context()
    both = ("bootstrap_server", "bootstrap_controller")
    if all(context.get_parameter_source(name) is ParameterSource.COMMANDLINE for name in both):
        raise click.UsageError("Please don't specify both --bootstrap-server and --bootstrap-controller")
    for name in set().union(*PERMITTED.values(), {"preserve_throttles"}) - PERMITTED[action]:
        if context.get_parameter_source(name) is ParameterSource.COMMANDLINE:
            raise click.UsageError(f'Option "{name.replace("_ms", "").replace("_", "-")}" can\'t be used with {action}')


def reassign_partitions(arguments: list[str]) -> int:
    """Entry point: takes the arguments after ``odradek reassign-partitions``, returns the exit code."""
    return main(command, "reassign-partitions", arguments)
