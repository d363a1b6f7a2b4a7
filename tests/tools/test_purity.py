"""The check of purity finds impure code in invented modules, and accepts pure code."""

from pathlib import Path

import pytest

from tools.purity import claim_at, claim_of, impurities

PURE: frozenset[str] = frozenset()
LOGS = frozenset({"log lines"})
GIVEN = frozenset({"the given file layer"})


@pytest.mark.parametrize(
    ("docstring", "claim"),
    [
        ("Sums. Pure.", PURE),
        ("Sums.\n\nPure: numbers in, numbers out.", PURE),
        ("Pure functions of a list.", PURE),
        ("Sums. Pure but for log lines. Source: none.", LOGS),
        ("Sums. Pure but for the given\nfile layer.", GIVEN),
        ("Sums. Pure but for log lines and the given file layer.", LOGS | GIVEN),
        ("Sums, as the pure core does. PurePath. The Pure one.", None),
        ("Sums. Shell.", None),
    ],
)
def test_what_a_docstring_claims(docstring: str, claim: frozenset[str] | None) -> None:
    assert claim_of(docstring) == claim


def test_an_exception_that_cannot_be_checked_is_refused() -> None:
    with pytest.raises(ValueError, match="the console"):
        claim_of("Prints. Pure but for the console, of course.".replace("the console", "what the console does"))


@pytest.mark.parametrize(
    "source",
    [
        "import asyncio",
        "import socket",
        "import os",
        "from os.path import join",
        "import time",
        "from time import monotonic",
        "from threading import Lock",
        "from concurrent.futures import ThreadPoolExecutor",
        "import logging",
        "def late():\n    import logging",
        "async def wait(): ...",
        "import random\nrandom.random()",
        "import random\nrandom.Random()",
        "from random import randint",
        "from random import Random\nRandom()",
        "from datetime import datetime\ndatetime.now()",
        "import datetime\ndatetime.datetime.now(tz=None)",
        "from uuid import uuid4",
        "import uuid\nuuid.uuid4()",
        "open('file')",
        "print('line')",
        "import click\nclick.echo('line')",
        "import sys\nsys.stdout.write('line')",
        "from pathlib import Path\nPath('file').read_text()",
        "import pathlib\ndef size(path: pathlib.Path): return path.stat().st_size",
        "from importlib.resources import files",
    ],
)
def test_impure_code_is_found(source: str) -> None:
    assert impurities(source, PURE)


@pytest.mark.parametrize(
    "source",
    [
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import asyncio\n    from pathlib import Path",
        "from random import Random\ndef draw(random: Random): return random.random() if random else Random(17)",
        "import random\ndef draw(seed): return random.Random(seed).random()",
        "from pathlib import Path\ndef name(path: Path): return path.parent / path.name",
        "from datetime import UTC, datetime\ndef when(ms): return datetime.fromtimestamp(ms / 1000, UTC)",
        "from uuid import UUID\nUUID(bytes=bytes(16))",
        "image.exists('topic')",  # a method with the name of a path's method, on another object
        "from io import BytesIO\nBytesIO(b'')",
        "from .time import pause",
        "from . import logging",
    ],
)
def test_pure_code_is_let_through(source: str) -> None:
    assert impurities(source, PURE) == []


def test_an_exception_allows_what_it_names_and_nothing_else() -> None:
    logs, files = "import logging", "from pathlib import Path\ndef size(entry, path: Path): return entry.stat().st_size"
    assert impurities(logs, LOGS) == impurities(files, GIVEN) == []
    assert impurities(logs, GIVEN) == ["1: logging"]
    assert impurities(files, LOGS) == ["2: Path.stat"]
    assert impurities("import os\nopen('file')", LOGS | GIVEN) == ["1: os", "2: open"]


def test_a_package_speaks_for_its_modules_and_a_module_for_itself(tmp_path: Path) -> None:
    def write(name: str, docstring: str) -> Path:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f'"""{docstring}"""\n')
        return path

    write("__init__.py", "Pure.")  # a claim in the root does not count
    init = write("core/__init__.py", "Decides. Pure but for log lines.")
    write("core/inner/__init__.py", "More of it.")
    assert claim_at(init, tmp_path) == LOGS
    assert claim_at(write("core/join.py", "Joins."), tmp_path) == LOGS
    assert claim_at(write("core/inner/sync.py", "Syncs."), tmp_path) == LOGS
    assert claim_at(write("core/hash.py", "Hashes. Pure."), tmp_path) == PURE
    assert claim_at(write("core/socket.py", "Sends. Shell."), tmp_path) is None
    assert claim_at(write("other.py", "Sends."), tmp_path) is None
