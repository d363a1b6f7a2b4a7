"""``odradek serve``: its command line. Help and wrong usage do not import the broker."""

import argparse
import gc
from collections.abc import Sequence

from odradek.protocol.common.command_arguments import add_arguments, parse

from .serve_arguments import ServeArguments


def parser() -> argparse.ArgumentParser:
    """The parser of the arguments of ``odradek serve``."""
    made = argparse.ArgumentParser(
        prog="odradek serve",
        description="Serves Kafka clients until SIGTERM or Ctrl-C.",
        epilog="Environment variables set keys as ODRADEK_<KEY_WITH_UNDERSCORES>. They override the file; --override"
        " overrides both.",
    )
    add_arguments(made, ServeArguments)
    return made


def serve(arguments: Sequence[str]) -> int:
    """Entry point: takes the arguments after ``odradek serve``, returns the exit code."""
    options = parse(parser(), ServeArguments, arguments)
    # Modules and metadata stay in memory: collecting garbage among them would take a tenth of the start.
    gc.disable()
    try:
        from .commands import serve as run_broker

        return run_broker(options)
    finally:
        gc.enable()
