"""The command line of ``odradek test-broker``. ``--help`` and usage errors return without importing the broker."""

import argparse
from collections.abc import Sequence

ADMIN_PORT = 9644
KAFKA_PORT = 9092


def parser() -> argparse.ArgumentParser:
    """The options of ``odradek test-broker``."""
    options = argparse.ArgumentParser(
        prog="odradek test-broker",
        description="Runs a broker for tests, with an empty temporary directory, until SIGTERM or Ctrl-C. "
        "Tests in any language control it over HTTP: reset, faults, time, kill, restart (docs/testing-over-http.md).",
    )
    options.add_argument("--host", default="127.0.0.1", help="both ports listen on this address (%(default)s)")
    options.add_argument(
        "--port", type=int, default=KAFKA_PORT, help="port for clients; 0: any free port (%(default)s)"
    )
    options.add_argument(
        "--admin-port", type=int, default=ADMIN_PORT, help="port for tests; 0: any free port (%(default)s)"
    )
    options.add_argument(
        "--advertised-host", metavar="HOST[:PORT]", help="the address that clients connect to, if not --host and --port"
    )
    options.add_argument(
        "--override", action="append", default=[], metavar="KEY=VALUE", help="sets a broker config; may be repeated"
    )
    options.add_argument(
        "--create-topic",
        action="append",
        default=[],
        metavar="NAME[:PARTITIONS[:CLEANUP.POLICY]]",
        help="creates a topic; may be repeated",
    )
    options.add_argument(
        "--ready-file", metavar="FILE", help="a file for both addresses, as JSON, written once the broker serves"
    )
    return options


def test_broker(arguments: Sequence[str]) -> int:
    """Entry point: takes the arguments after ``odradek test-broker``, returns the exit code."""
    options = parser().parse_args(arguments)
    from .command import run_test_broker

    return run_test_broker(options)
