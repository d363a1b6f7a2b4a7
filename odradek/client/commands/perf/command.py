"""``odradek perf``: does what Kafka's three performance tools do, with this package's client."""

import click

from ..running import main
from .consume import consume
from .end_to_end import end_to_end, named
from .options import one_value_a_flag
from .produce import LISTS, produce


@click.group(
    help="Measure a cluster: produce, consume, end-to-end. A histogram of the latencies goes to standard error.",
    context_settings={"help_option_names": ["-h", "--help"]},
)
def command() -> None:
    """Does nothing: each tool is a subcommand."""


for tool in (produce, consume, end_to_end):
    tool.context_settings = {"help_option_names": ["-h", "--help"]}
    command.add_command(tool)


def perf(arguments: list[str]) -> int:
    """Entry point: takes the arguments after ``odradek perf``, returns the exit code."""
    if arguments[:1] == [produce.name]:
        arguments = one_value_a_flag(arguments, LISTS)
    if arguments[:1] == [end_to_end.name]:
        try:
            arguments = [arguments[0], *named(arguments[1:])]
        except click.UsageError as error:
            error.show()
            return 2
    return main(command, "perf", arguments)
