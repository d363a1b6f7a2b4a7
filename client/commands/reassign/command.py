"""``odradek reassign-partitions``: the flags, and which of them go with which action."""

from __future__ import annotations

from typing import TYPE_CHECKING, TextIO

import click
from click.core import ParameterSource

from ..command_config import admin_settings, command_config_option
from ..running import bootstrap_option, exactly_one, main, run

if TYPE_CHECKING:
    from .admin import ReassignAdmin

API_TIMEOUT_MS = 60_000
OF_EXECUTE = {
    "reassignment_json_file", "additional", "throttle", "replica_alter_log_dirs_throttle", "timeout_ms",
    "disallow_replication_factor_change",
}  # fmt: skip
PERMITTED = {
    "execute": OF_EXECUTE,
    "verify": {"reassignment_json_file", "preserve_throttles"},
    "cancel": {"reassignment_json_file", "preserve_throttles", "timeout_ms"},
    "list": set[str](),
}
"""Action -> the parameters that it takes, besides those for the connection."""
RATE = click.IntRange(min=-1)


@click.command(
    help="Move partitions to other brokers or log directories.",
    context_settings={"help_option_names": ["-h", "--help"]},
)
@bootstrap_option
@command_config_option
@click.option("--execute", is_flag=True, help="Start the reassignment of the file.")
@click.option("--verify", is_flag=True, help="Show its progress; remove the throttles once it is complete.")
@click.option("--cancel", is_flag=True, help="Cancel it.")
@click.option("--list", "list_", is_flag=True, help="List all reassignments under way.")
@click.option("--reassignment-json-file", type=click.File(encoding="utf-8"), metavar="FILE", help="The reassignment.")
@click.option("--additional", is_flag=True, help="Execute in addition to other reassignments.")
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
@click.option("--preserve-throttles", is_flag=True, help="Leave throttles as they are.")
@click.option("--disallow-replication-factor-change", is_flag=True, help="Refuse other numbers of replicas.")
def command(
    bootstrap_server: str,
    command_config: str | None,
    execute: bool,
    verify: bool,
    cancel: bool,
    list_: bool,
    reassignment_json_file: TextIO | None,
    additional: bool,
    throttle: int,
    replica_alter_log_dirs_throttle: int,
    timeout_ms: int,
    preserve_throttles: bool,
    disallow_replication_factor_change: bool,
) -> int:
    """Checks the arguments and runs the action."""
    action = exactly_one({"execute": execute, "verify": verify, "cancel": cancel, "list": list_})
    check_permitted(action)
    from . import actions
    from .plan import ReassignmentPlan, parse_plan

    plan = ReassignmentPlan([], {})
    if action != "list":
        if reassignment_json_file is None:
            raise click.UsageError('Missing required argument "[reassignment-json-file]"')
        plan = parse_plan(reassignment_json_file.read())
    options = actions.Execution(
        additional, throttle, replica_alter_log_dirs_throttle, timeout_ms, not disallow_replication_factor_change
    )

    async def act(admin: ReassignAdmin) -> None:
        if action == "list":
            await actions.print_list(admin)
        elif action == "verify":
            await actions.verify(admin, plan, preserve_throttles=preserve_throttles)
        elif action == "execute":
            await actions.execute(admin, plan, options)
        else:
            await actions.cancel(admin, plan, preserve_throttles=preserve_throttles, timeout_ms=timeout_ms)

    async def work() -> int | None:
        from .admin import ReassignAdmin

        settings = admin_settings(command_config, API_TIMEOUT_MS)
        async with ReassignAdmin(bootstrap_server, **settings._asdict()) as admin:
            await act(admin)
        return 0

    return run(work)


def check_permitted(action: str) -> None:
    """Raises UsageError for an option that does not go with the action."""
    context = click.get_current_context()
    for name in set().union(*PERMITTED.values(), {"preserve_throttles"}) - PERMITTED[action]:
        if context.get_parameter_source(name) is ParameterSource.COMMANDLINE:
            raise click.UsageError(f'Option "{name.replace("_ms", "").replace("_", "-")}" can\'t be used with {action}')


def reassign_partitions(arguments: list[str]) -> int:
    """Entry point: takes the arguments after ``odradek reassign-partitions``, returns the exit code."""
    return main(command, "reassign-partitions", arguments)
