"""``odradek reassign-partitions``: the flags, and the actions with which they are allowed."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial
from typing import TYPE_CHECKING, Any, TextIO

import click
from click.core import ParameterSource

from ..command_config import admin_settings, command_config_option
from ..kafka_command import KafkaCommand
from ..running import bootstrap_option, exactly_one, main, run

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


@click.command(
    cls=KafkaCommand,
    help="Move partitions to other brokers or log directories.",
    context_settings={"help_option_names": ["-h", "--help"]},
)
@bootstrap_option
@click.option(
    "--bootstrap-controller",
    metavar="HOST:PORT,...",
    help="Controllers to use instead of brokers, with --list or --cancel.",
)
@command_config_option
@click.option(
    "--generate", "generate_", is_flag=True, help="Propose an assignment of topics to brokers; change nothing."
)
@click.option("--execute", "execute_", is_flag=True, help="Start the reassignment in the file.")
@click.option("--verify", "verify_", is_flag=True, help="Show the progress; remove the throttles if all is complete.")
@click.option("--cancel", "cancel_", is_flag=True, help="Cancel the reassignment in the file.")
@click.option("--list", "list_", is_flag=True, help="List all ongoing reassignments.")
@click.option(
    "--reassignment-json-file",
    type=click.File(encoding="utf-8"),
    metavar="FILE",
    help="The file with the reassignment.",
)
@click.option(
    "--topics-to-move-json-file",
    type=click.File(encoding="utf-8"),
    metavar="FILE",
    help='With --generate: the topics, {"topics": [{"topic": "foo"}], "version": 1}.',
)
@click.option("--broker-list", metavar="N,...", help="With --generate: the brokers.")
@click.option("--disable-rack-aware", is_flag=True, help="With --generate: ignore the brokers' racks.")
@click.option("--additional", is_flag=True, help="With --execute: add to ongoing reassignments.")
@click.option("--throttle", type=RATE, default=-1, metavar="BYTES/S", help="A limit on moves between brokers.")
@click.option(
    "--replica-alter-log-dirs-throttle",
    type=RATE,
    default=-1,
    metavar="BYTES/S",
    help="A limit on moves between the log directories of a broker.",
)
@click.option(
    "--timeout",
    "timeout_ms",
    type=click.IntRange(min=0),
    default=10_000,
    show_default=True,
    metavar="MS",
    help="How long to wait for moves between log directories to start.",
)
@click.option("--preserve-throttles", is_flag=True, help="Do not change the throttles.")
@click.option("--disallow-replication-factor-change", is_flag=True, help="Refuse to change the number of replicas.")
def command(bootstrap_server: str, bootstrap_controller: str | None, command_config: str | None, **given: Any) -> int:
    """Checks the arguments and runs the action."""
    action = exactly_one({name: given.pop(f"{name}_") for name in PERMITTED})
    check_permitted(action)
    act = generation(**given) if action == "generate" else action_of(action, **given)

    async def work() -> int | None:
        from .admin import ReassignAdmin

        settings = admin_settings(command_config, API_TIMEOUT_MS)
        at = {"bootstrap_controllers": bootstrap_controller, **settings._asdict()}
        async with ReassignAdmin(bootstrap_server, **at) as admin:
            await act(admin)
        return 0

    return run(work)


def generation(
    topics_to_move_json_file: TextIO | None, broker_list: str | None, disable_rack_aware: bool, **_: Any
) -> Action:
    """The function for ``--generate``, with its arguments. Raises UsageError, CommandError."""
    from .generate import generate, parse_brokers, parse_topics

    if topics_to_move_json_file is None:
        raise click.UsageError('Missing required argument "[topics-to-move-json-file]"')
    if broker_list is None:
        raise click.UsageError('Missing required argument "[broker-list]"')
    brokers, topics = parse_brokers(broker_list), parse_topics(topics_to_move_json_file.read())
    return partial(generate, topics=topics, brokers=brokers, rack_aware=not disable_rack_aware)


def action_of(
    action: str,
    reassignment_json_file: TextIO | None,
    additional: bool,
    throttle: int,
    replica_alter_log_dirs_throttle: int,
    timeout_ms: int,
    preserve_throttles: bool,
    disallow_replication_factor_change: bool,
    **_: Any,
) -> Action:
    """The function for an action except ``--generate``, with its arguments. Raises UsageError, CommandError."""
    from . import actions
    from .plan import parse_plan

    if action == "list":
        return actions.print_list
    if reassignment_json_file is None:
        raise click.UsageError('Missing required argument "[reassignment-json-file]"')
    plan = parse_plan(reassignment_json_file.read())
    if action == "verify":
        return partial(actions.verify, plan=plan, preserve_throttles=preserve_throttles)
    if action == "cancel":
        return partial(actions.cancel, plan=plan, preserve_throttles=preserve_throttles, timeout_ms=timeout_ms)
    options = actions.Execution(
        additional, throttle, replica_alter_log_dirs_throttle, timeout_ms, not disallow_replication_factor_change
    )
    return partial(actions.execute, plan=plan, options=options)


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
