"""The table of runs in Delta's format, through delta-rs: a run is one commit, with the rows of `runs_table.py`.

Appends of several audits at once don't disturb each other: delta-rs tries a commit again that another one was ahead of.
A run has its id as Delta's transaction id, so that a run that is appended twice is there once. Source: Delta's protocol
(transaction identifiers).
"""

from pathlib import Path
from typing import Any

_MISSING = "deltalake is not installed; install odradek with the extra 'delta' (README.md, Install)"
DELTA_LOG = "_delta_log"
_VERSION = 1
"""Delta's transactions have a number that rises; a run is one transaction."""


def is_delta(table: Path) -> bool:
    """Whether the folder is a Delta table. Raises OSError."""
    return (table / DELTA_LOG).is_dir()


def append_to_delta(table: Path, rows: Any, run: str) -> None:
    """Appends the rows (an Arrow table) of a run; makes the table if there is none. Raises OSError."""
    try:
        import deltalake
        from deltalake.exceptions import DeltaError
    except ImportError as error:
        raise OSError(_MISSING) from error
    try:
        if is_delta(table) and deltalake.DeltaTable(str(table)).transaction_version(run) is not None:
            return
        mark = deltalake.CommitProperties(app_transactions=[deltalake.Transaction(app_id=run, version=_VERSION)])
        deltalake.write_deltalake(str(table), rows, mode="append", commit_properties=mark)
    except (DeltaError, OSError) as error:
        raise OSError(f"{table}: {error}") from error
