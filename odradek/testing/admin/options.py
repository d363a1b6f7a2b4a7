"""The command line of ``odradek test-broker``. ``--help`` and usage errors return without importing the broker."""

import argparse
from collections.abc import Sequence
from typing import NamedTuple

from odradek.protocol.common.command_arguments import add_arguments, argument, parse
from odradek.protocol.common.lazy_imports import lazy_imports

with lazy_imports:
    from . import command

ADMIN_PORT = 9644
KAFKA_PORT = 9092


class TestBrokerArguments(NamedTuple):
    """The arguments of ``odradek test-broker``."""

    host: str = argument("--host", default="127.0.0.1", help="both ports listen on this address (%(default)s)")
    port: int = argument(
        "--port", type=int, default=KAFKA_PORT, help="port for clients; 0: any free port (%(default)s)"
    )
    admin_port: int = argument(
        "--admin-port", type=int, default=ADMIN_PORT, help="port for tests; 0: any free port (%(default)s)"
    )
    advertised_host: str | None = argument(
        "--advertised-host", metavar="HOST[:PORT]", help="the address that clients connect to, if not --host and --port"
    )
    override: list[str] = argument(
        "--override", action="append", default=[], metavar="KEY=VALUE", help="sets a broker config; may be repeated"
    )
    create_topic: list[str] = argument(
        "--create-topic",
        action="append",
        default=[],
        metavar="NAME[:PARTITIONS[:CLEANUP.POLICY]]",
        help="creates a topic; may be repeated",
    )
    ready_file: str | None = argument(
        "--ready-file", metavar="FILE", help="a file for both addresses, as JSON, written once the broker serves"
    )


def test_broker(arguments: Sequence[str]) -> int:
    """Entry point: takes the arguments after ``odradek test-broker``, returns the exit code."""
    parser = argparse.ArgumentParser(
        prog="odradek test-broker",
        description="Runs a broker for tests, with an empty temporary directory, until SIGTERM or Ctrl-C. "
        "Tests in any language control it over HTTP: reset, faults, time, kill, restart (docs/testing-over-http.md).",
    )
    add_arguments(parser, TestBrokerArguments)
    options = parse(parser, TestBrokerArguments, arguments)
    return command.run_test_broker(options)
