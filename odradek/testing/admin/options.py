"""The command line of ``odradek test-broker``. ``--help`` and usage errors return without importing the broker."""

import argparse
from collections.abc import Sequence

from odradek.protocol.common.command_arguments import add_arguments, parse
from odradek.protocol.common.lazy_imports import lazy_imports

from .arguments import TestBrokerArguments

with lazy_imports:
    from . import command


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
