"""Prints events as JSON lines, with findings at their places among them.

Owns: standard output.
"""

import json
from pathlib import Path

from .events import DumpFinding, Event
from .json_documents import json_document
from .printer import LineWriter


class JsonPrinter:
    """Prints a JSON document a line."""

    def __init__(self, *, skip_record_metadata: bool) -> None:
        self._out = LineWriter()
        self._skip_record_metadata = skip_record_metadata

    def print(self, event: Event, path: Path) -> DumpFinding | None:
        """Prints an event of a file's dump. Returns it if it is a finding."""
        found = json_document(event, path, skip_record_metadata=self._skip_record_metadata)
        self._out.write(json.dumps(found, ensure_ascii=False))
        return event if isinstance(event, DumpFinding) else None

    def flush(self) -> None:
        """Writes the buffered lines."""
        self._out.flush()

    def close(self) -> None:
        """Writes the buffered lines. The findings are among them."""
        self.flush()
