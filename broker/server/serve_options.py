"""``odradek serve``: its options. The broker is imported once they are right: help and wrong usage need none of it."""

import argparse
import gc
from collections.abc import Sequence

LEVELS = ("debug", "info", "warning", "error")


def parser() -> argparse.ArgumentParser:
    """The options of ``odradek serve``."""
    options = argparse.ArgumentParser(
        prog="odradek serve",
        description="Serves Kafka clients until SIGTERM or Ctrl-C.",
        epilog="Keys also come from the environment as ODRADEK_<KEY_WITH_UNDERSCORES>; --override wins over both.",
    )
    options.add_argument("configuration", nargs="?", metavar="CONF", help="a properties file with Kafka's keys")
    options.add_argument(
        "--override", action="append", default=[], metavar="KEY=VALUE", help="sets one key; may repeat"
    )
    # For the image's entry point: a variable of Apache's image sets one key, and errors name the variable.
    options.add_argument("--variable", action="append", default=[], nargs=2, help=argparse.SUPPRESS)
    options.add_argument("--cluster-id", metavar="ID", help="of a new data directory; one with data keeps its own")
    options.add_argument("--ready-file", metavar="FILE", help="written as JSON, with the real ports, once it serves")
    options.add_argument("--log-level", choices=LEVELS, default="info")
    options.add_argument("--log-format", choices=("text", "json"), default="text")
    return options


def serve(arguments: Sequence[str]) -> int:
    """Entry point: the arguments after ``odradek serve``, the exit code back."""
    options = parser().parse_args(arguments)
    # Modules and metadata are made to stay: to look for garbage among them takes a tenth of the start.
    gc.disable()
    try:
        from .commands import serve as run_broker

        return run_broker(options)
    finally:
        gc.enable()
