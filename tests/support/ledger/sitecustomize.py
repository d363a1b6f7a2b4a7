"""Python runs this first in every process that a recording test run starts: see protocol_recorder.py."""

import os
import sys

if "PROTOCOL_LEDGER_DIRECTORY" in os.environ:
    from protocol_recorder import RecordOnImport  # type: ignore[import-not-found]

    sys.meta_path.insert(0, RecordOnImport())
