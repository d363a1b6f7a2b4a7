"""A Chromium for the tests, from what a fresh machine has: ``TESTS_CHROMIUM``, the PATH, or Debian's package."""

import os
import shutil
from functools import cache

from support.debian import program_or_skip

PROGRAMS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


@cache
def browser_or_skip() -> str:
    """The program. Installs Debian's package in CI if there is none; otherwise skips the test."""
    named = os.environ.get("TESTS_CHROMIUM")
    if named:
        return named
    for program in PROGRAMS:
        if shutil.which(program):
            return program
    program_or_skip("chromium", "chromium", "fonts-dejavu-core")
    return "chromium"
