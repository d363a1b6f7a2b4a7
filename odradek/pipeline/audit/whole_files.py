"""Reads small files of a partition whole. A file that can't be read is a finding, and the audit continues."""

from pathlib import Path

from odradek.storage.files.regular_files import fault_text

from ..directories.file_access import is_gone, is_unreadable, read_file
from .tasks import PartitionReport


def read_whole(report: PartitionReport, path: Path) -> bytes | None:
    """All bytes of a file. If the system refuses to read it, adds a finding to the report and returns None.

    Raises FileNotFoundError if it does not exist, OSError for errors that do not concern this file.
    """
    try:
        return read_file(path)
    except OSError as error:
        report_refusal(report, path, error)
        return None


def report_refusal(report: PartitionReport, path: Path, error: OSError) -> None:
    """Adds `file-unreadable` for a file that could not be read. Raises errors that do not concern this file."""
    if is_gone(error):
        raise FileNotFoundError(error.errno, error.strerror, str(path)) from error
    if not is_unreadable(error, path):
        raise error
    report.add("file-unreadable", path, fault_text(error), position=0)
