"""Small files of a partition that an audit reads whole: one that can't be read is a finding, and the audit goes on."""

from pathlib import Path

from ...storage.files.regular_files import fault_text
from ..directories.file_access import is_gone, is_unreadable, read_file
from .tasks import PartitionReport


def read_whole(report: PartitionReport, path: Path) -> bytes | None:
    """All bytes of a file; None, and a finding in the report, if the system refuses it.

    Raises FileNotFoundError if it is not there, OSError for what is not this file's fault.
    """
    try:
        return read_file(path)
    except OSError as error:
        report_refusal(report, path, error)
        return None


def report_refusal(report: PartitionReport, path: Path, error: OSError) -> None:
    """Adds `file-unreadable` for a file that could not be read. Raises the error if it is not this file's fault."""
    if is_gone(error):
        raise FileNotFoundError(error.errno, error.strerror, str(path)) from error
    if not is_unreadable(error, path):
        raise error
    report.add("file-unreadable", path, fault_text(error), position=0)
