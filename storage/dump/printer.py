"""Printing events as they come: text as Kafka's tool has it, or JSON lines.

Owns: standard output and error. Invariant: text names each finding on standard error once everything is printed, first
those that Kafka's tool lists in its words, then all that is corrupt with file, position and what was expected; JSON has
findings among the other lines.
"""

import io
import json
import sys
from pathlib import Path

from .events import Event, Finding
from .json_documents import json_document
from .text_lines import coordinator_text, lines, metadata_message_text

LINES_AT_ONCE = 256  # written together: a write for each line halves the speed


class _Lines:
    """Standard output, some lines at a time."""

    def __init__(self) -> None:
        self._waiting: list[str] = []
        if isinstance(sys.stdout, io.TextIOWrapper):
            sys.stdout.reconfigure(errors="backslashreplace")  # a key is no reason to fail where the terminal is ASCII

    def write(self, line: str) -> None:
        self._waiting.append(line)
        if len(self._waiting) >= LINES_AT_ONCE:
            self.flush()

    def flush(self) -> None:
        if self._waiting:
            sys.stdout.write("\n".join(self._waiting) + "\n")
            self._waiting.clear()
        sys.stdout.flush()


class TextPrinter:
    """Prints as Kafka's tool does."""

    def __init__(self, *, skip_record_metadata: bool, decoder: str | None) -> None:
        """``decoder`` names the flag whose messages are to be printed; None when keys and values are plain."""
        self._out = _Lines()
        self._skip_record_metadata = skip_record_metadata
        framed = decoder in ("cluster_metadata", "remote_log_metadata")
        self._message_text = metadata_message_text if framed else coordinator_text
        self._findings: list[Finding] = []

    def print(self, event: Event, path: Path) -> Finding | None:
        """Prints an event of a file's dump, or keeps it for the end; gives it back if it is a finding."""
        if isinstance(event, Finding):
            self._findings.append(event)
            return event
        for line in lines(event, skip_record_metadata=self._skip_record_metadata, message_text=self._message_text):
            self._out.write(line)
        return None

    def flush(self) -> None:
        """What is waiting is written."""
        self._out.flush()

    def finish(self) -> None:
        """Prints the findings."""
        self.flush()
        print("".join(f"{line}\n" for line in summary(self._findings)), end="", file=sys.stderr)


def summary(findings: list[Finding]) -> list[str]:
    """The findings as lines: Kafka's headings with their lines, then what is corrupt and what is worth knowing."""
    by_heading: dict[str, list[str]] = {}
    for finding in findings:
        if finding.kafka is not None:
            by_heading.setdefault(finding.kafka[0], []).append(finding.kafka[1])
    found = [line for heading, its_lines in by_heading.items() for line in (heading, *its_lines)]
    for finding in findings:
        if finding.is_corrupt or finding.kafka is None:
            where = f"{finding.path}" if finding.position is None else f"{finding.path} at {finding.position}"
            found.append(f"odradek dump-log: {where}: {finding.what}")
    return found


class JsonPrinter:
    """Prints a JSON document a line."""

    def __init__(self, *, skip_record_metadata: bool) -> None:
        self._out = _Lines()
        self._skip_record_metadata = skip_record_metadata

    def print(self, event: Event, path: Path) -> Finding | None:
        """Prints an event of a file's dump; gives it back if it is a finding."""
        found = json_document(event, path, skip_record_metadata=self._skip_record_metadata)
        self._out.write(json.dumps(found, ensure_ascii=False))
        return event if isinstance(event, Finding) else None

    def flush(self) -> None:
        """What is waiting is written."""
        self._out.flush()

    def finish(self) -> None:
        """All is printed already."""
        self.flush()
