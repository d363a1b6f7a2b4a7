"""A Chromium for the tests, from what a fresh machine has: ``TESTS_CHROMIUM``, the PATH, or a package of npm.

The package ``@sparticuz/chromium`` has the whole browser, its libraries and a font in compressed files; it is unpacked
into the cache of this checkout once.
"""

import os
import shutil
import subprocess
from functools import cache
from pathlib import Path
from typing import NamedTuple

from support.debian import program_or_skip
from support.kafka.java import locked

PACKAGE = "@sparticuz/chromium@147.0.0"
CACHE = Path(__file__).parents[3] / ".cache" / "chromium-147"
PROGRAMS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
UNPACK = """
const fs = require("fs"), zlib = require("zlib"), from = "node_modules/@sparticuz/chromium/bin/";
const files = { "chromium.br": "chromium.part", "al2023.tar.br": "lib.tar", "fonts.tar.br": "fonts.tar" };
for (const [packed, name] of Object.entries(files))
  fs.writeFileSync(name, zlib.brotliDecompressSync(fs.readFileSync(from + packed)));
"""


class Browser(NamedTuple):
    """A program, and what it needs in its environment."""

    program: str
    environment: dict[str, str]


@cache
def browser_or_skip() -> Browser:
    """Finds a Chromium, or gets one by npm. Skips the test if that can't be (fails it if CI=true)."""
    named = os.environ.get("TESTS_CHROMIUM")
    if named:
        return Browser(named, {})
    for program in PROGRAMS:
        if shutil.which(program):
            return Browser(program, {})
    program_or_skip("npm", "nodejs", "npm")
    CACHE.mkdir(parents=True, exist_ok=True)
    with locked(CACHE):
        if not (CACHE / "chromium").exists():
            _unpack()
    return Browser(
        str(CACHE / "chromium"),
        {"LD_LIBRARY_PATH": str(CACHE / "lib"), "FONTCONFIG_PATH": str(CACHE), "HOME": str(CACHE)},
    )


def _unpack() -> None:
    subprocess.run(
        ["npm", "install", "--silent", "--no-audit", "--no-fund", "--prefix", ".", PACKAGE], cwd=CACHE, check=True
    )
    subprocess.run(["node", "-e", UNPACK], cwd=CACHE, check=True)
    for name in ("lib.tar", "fonts.tar"):
        subprocess.run(["tar", "xf", name], cwd=CACHE, check=True)
        (CACHE / name).unlink()
    shutil.rmtree(CACHE / "node_modules")
    (CACHE / "chromium.part").chmod(0o755)
    (CACHE / "chromium.part").rename(CACHE / "chromium")
