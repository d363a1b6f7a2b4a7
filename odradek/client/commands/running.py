"""Runs every command: takes arguments, returns an exit code, prints an error as one line with the next step to take.

Exit codes: 0 done, 1 failed, 2 wrong usage, 130 interrupted (Ctrl-C). To start fast it imports only click. asyncio and
the client are imported before the first request.
"""

import os
import re
import sys
from collections.abc import Callable, Coroutine
from typing import Any

import click

from odradek.protocol.common.command_options import flag, option
from odradek.protocol.common.lazy_imports import lazy_imports

with lazy_imports:
    import asyncio

    from odradek.protocol import errors as protocol_errors

    from .. import errors as client_errors

EXIT_FAILED = 1
EXIT_USAGE = 2
EXIT_INTERRUPTED = 130
DEFAULT_BOOTSTRAP_SERVER = "127.0.0.1:9092"
BOOTSTRAP_VARIABLE = "ODRADEK_BOOTSTRAP_SERVER"


def bootstrap_option() -> Any:
    """``--bootstrap-server``, as a field of a command's options."""
    return option(
        "--bootstrap-server",
        default=DEFAULT_BOOTSTRAP_SERVER,
        envvar=BOOTSTRAP_VARIABLE,
        show_default=True,
        show_envvar=True,
        metavar="HOST:PORT,...",
        help="One or more brokers of the cluster.",
    )


def json_option() -> Any:
    """``--json``, as a field of a command's options."""
    return flag("--json", help="Print JSON instead of text.")


def timeout_option() -> Any:
    """``--timeout``, as a field of a command's options: ms."""
    return option(
        "--timeout",
        type=click.IntRange(min=1),
        default=30_000,
        show_default=True,
        metavar="MS",
        help="Fail if the brokers do not answer within this time.",
    )


INSTEAD_OF = {
    "--broker-list": ["--bootstrap-server"],
    "--whitelist": ["--include"],
    "--zookeeper": ["--bootstrap-server"],
}
"""Flag of Kafka's scripts, possibly removed before Kafka 4 -> the flags to use here."""


NOT_SERVED = {
    "--print-metrics": "the client has no such metrics; docs/metrics.md lists those of the broker",
}
"""Flag of Kafka 4.4's scripts that is missing here -> the reason."""


class CommandError(Exception):
    """A command cannot continue. The message is for the user and names the next step."""


def main(command: click.Command, name: str, arguments: list[str]) -> int:
    """Runs a click command as ``odradek NAME``. Returns its exit code."""
    try:
        result = command.main(args=arguments, prog_name=f"odradek {name}", standalone_mode=False)
        sys.stdout.flush()
    except click.UsageError as error:
        if isinstance(error, click.NoSuchOption):
            error = with_suggestion(error, command)
        error.show()
        return EXIT_USAGE
    except click.ClickException as error:
        error.show()
        return EXIT_FAILED
    except (KeyboardInterrupt, click.Abort):
        return EXIT_INTERRUPTED
    except BrokenPipeError:
        print_no_more()
        return EXIT_FAILED
    except CommandError as error:
        return failed(name, str(error))
    return result if isinstance(result, int) else 0


def with_suggestion(error: click.NoSuchOption, command: click.Command) -> click.UsageError:
    """Replaces the error for a flag of Kafka's scripts by one that names the flag to use, or why it is missing.

    Returns other errors unchanged; click itself suggests flags with similar spelling.
    """
    called = command if error.ctx is None else error.ctx.command  # an action of the command, such as perf consume
    flags = {flag for parameter in called.params for flag in parameter.opts}
    meant = [flag for flag in INSTEAD_OF.get(error.option_name, []) if flag in flags]
    if not meant and error.option_name in NOT_SERVED:
        why = NOT_SERVED[error.option_name]
        return click.UsageError(f"'{error.option_name}' of Kafka's script is not supported: {why}.", error.ctx)
    if not meant:
        return error
    return click.UsageError(f"No such option '{error.option_name}'. Use {', '.join(meant)} instead.", error.ctx)


def print_no_more() -> None:
    """Discards standard output from now on, because its reader has ended (`| head`)."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def failed(name: str, message: str) -> int:
    """Prints an error. Returns its exit code."""
    print(f"odradek {name}: {message}", file=sys.stderr)
    return EXIT_FAILED


def run(work: Callable[[], Coroutine[Any, Any, int | None]], *, is_measuring: bool = False) -> int:
    """Runs a coroutine in a new event loop. Ctrl-C cancels it and raises KeyboardInterrupt.

    ``is_measuring``: the loop is uvloop's, which does more in the same time. It is imported in 20 ms, so commands with
    few requests end sooner without it. Raises CommandError for the errors of the client and of the brokers.
    """
    try:
        if is_measuring:
            import uvloop

            return uvloop.run(work()) or 0
        return asyncio.run(work()) or 0
    except (client_errors.ClientError, protocol_errors.ProtocolError) as error:
        raise CommandError(str(error)) from error
    except protocol_errors.KafkaError as error:
        raise CommandError(f"{error.args[-1]} ({error.error_code.name})") from error


def exactly_one(chosen: dict[str, bool]) -> str:
    """The name of the one action whose flag was given. Raises UsageError if none or several were given."""
    actions = [name for name, given in chosen.items() if given]
    if len(actions) != 1:
        raise click.UsageError(f"Command must include exactly one action: {', '.join(f'--{name}' for name in chosen)}")
    return actions[0]


def topic_pattern(text: str, option: str) -> re.Pattern[str]:
    """A pattern of topics, in which a comma separates alternatives, as in Kafka's scripts. Raises CommandError.

    Spaces, and quotes around it, are dropped. Source: ``TopicFilter``.
    """
    try:
        return re.compile(text.replace(",", "|").replace(" ", "").strip("\"'"))
    except re.error as error:
        raise CommandError(f"{option} {text} is not a regular expression: {error}") from None


def key_values(texts: tuple[str, ...], option: str) -> dict[str, str]:
    """Parses ``key=value`` options to a dictionary. Raises UsageError."""
    pairs = {}
    for text in texts:
        key, separator, value = text.partition("=")
        if not separator or not key.strip():
            raise click.UsageError(f'{option} {text}: must be in the format "key=value"')
        pairs[key.strip()] = value
    return pairs
