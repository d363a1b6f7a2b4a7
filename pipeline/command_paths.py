"""Paths on command lines of the pipeline that must lie on a file system, where others may be URLs (file_access.py)."""

import argparse
from pathlib import Path

from .directories.file_access import URL_MARK


def path_on_disk(text: str) -> Path:
    """A path that something is written to or locked in. Raises ArgumentTypeError for a URL."""
    if URL_MARK in text:
        raise argparse.ArgumentTypeError(
            f"{text} is a URL: files are renamed and locked here, which object storage can't do; take a directory on a "
            "disk or a mounted volume, and copy"
        )
    return Path(text)
