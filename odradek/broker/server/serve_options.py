"""``odradek serve``: its options. Help and wrong usage do not import the broker."""

import argparse
import gc
from collections.abc import Sequence

LEVELS = ("debug", "info", "warning", "error")


def parser() -> argparse.ArgumentParser:
    """The options of ``odradek serve``."""
    options = argparse.ArgumentParser(
        prog="odradek serve",
        description="Serves Kafka clients until SIGTERM or Ctrl-C.",
        epilog="Environment variables set keys as ODRADEK_<KEY_WITH_UNDERSCORES>. They override the file; --override"
        " overrides both.",
    )
    options.add_argument(
        "configuration",
        nargs="?",
        metavar="CONF",
        help="the broker's configuration: a properties file with Kafka's keys",
    )
    options.add_argument(
        "--override", action="append", default=[], metavar="KEY=VALUE", help="set one key; may be repeated"
    )
    # For the image's entry point: a variable of Apache's image sets one key, and errors name the variable.
    options.add_argument("--variable", action="append", default=[], nargs=2, help=argparse.SUPPRESS)
    options.add_argument(
        "--cluster-id", metavar="ID", help="the cluster id of a new data directory; ignored if the directory has one"
    )
    options.add_argument(
        "--ready-file", metavar="FILE", help="a file to write when the broker is ready: JSON with the actual ports"
    )
    options.add_argument(
        "--create-topic",
        action="append",
        default=[],
        metavar="NAME[:PARTITIONS[:REPLICAS]][:CLEANUP.POLICY]",
        help="a topic to create at the start if it does not exist; may be repeated",
    )
    # For the image's entry point: what other images log when they serve, and tools wait for.
    options.add_argument("--announce-as-kafka", action="store_true", help=argparse.SUPPRESS)
    options.add_argument(
        "--log-level", choices=LEVELS, default="info", help="the lowest level of log lines; default: info"
    )
    options.add_argument(
        "--log-format", choices=("text", "json"), default="text", help="the format of log lines; default: text"
    )
    return options


def serve(arguments: Sequence[str]) -> int:
    """Entry point: takes the arguments after ``odradek serve``, returns the exit code."""
    options = parser().parse_args(arguments)
    # Modules and metadata stay in memory: collecting garbage among them would take a tenth of the start.
    gc.disable()
    try:
        from .commands import serve as run_broker

        return run_broker(options)
    finally:
        gc.enable()
