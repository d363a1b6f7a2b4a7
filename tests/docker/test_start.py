"""The time from ``docker run`` to the first answer and to healthy, and what shortens it."""

import statistics
from collections.abc import Callable

import pytest

from .container import Image
from .first_answer import measure_program, measure_start

pytestmark = pytest.mark.ci

ROUNDS = 3
"""How many starts are measured; the median is printed."""
UNCOMPILED = """
import os, sys
from odradek.broker.server import broker_server, serve_options
modules = {name: getattr(module, "__cached__", None) for name, module in sys.modules.items()}
print(len(modules) > 200, [name for name, file in sorted(modules.items()) if file and not os.path.exists(file)])
"""
"""Prints the imported modules without a compiled file. The program itself can't write any."""


def test_a_container_answers_metadata_and_becomes_healthy(
    image: Image, record_property: Callable[[str, object], None]
) -> None:
    """Prints the times. They depend on the machine, so nothing is required of them."""
    programs = [measure_program(image.engine, image.tag) for _ in range(ROUNDS)]
    starts = [measure_start(image.engine, image.tag) for _ in range(ROUNDS)]
    medians = {
        "an empty program": statistics.median(programs),
        "the first answer": statistics.median(start.answered_s for start in starts),
        "healthy": statistics.median(start.healthy_s for start in starts),
    }
    for what, seconds in medians.items():
        record_property(what, seconds)
        print(f"{what}: {seconds:.2f} s after docker run (median of {ROUNDS})")


def test_everything_that_a_start_imports_is_compiled(image: Image) -> None:
    """Also the standard library: uid 1000 could not keep compiled files of it, so each start would compile it."""
    program = ("--network", "none", "--entrypoint", "python", image.tag, "-c", UNCOMPILED)
    assert image.engine.run("run", "--rm", *program) == "True []"
