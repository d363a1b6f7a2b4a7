"""Prints events as text, as Kafka's tool does.

Owns: standard output and error. Invariant: findings are printed on standard error at the end: first those that Kafka's
tool lists, in its words, then every corruption with file, position and the expected content.
"""

import io
import sys
from pathlib import Path

from odradek.protocol.common.lazy_imports import lazy_imports

from .events import DumpFinding, Event
from .text_lines import MessageText, coordinator_text, lines, metadata_message_text

with lazy_imports:
    from . import remote_log_lines

LINES_AT_ONCE = 256  # written together: a write for each line halves the speed
MAX_WAITING_CHARACTERS = 1 << 20
"""Buffered lines are written at this number of characters, since values of records may be large."""


class LineWriter:
    """Buffered standard output."""

    def __init__(self) -> None:
        self._waiting: list[str] = []
        self._characters = 0
        if isinstance(sys.stdout, io.TextIOWrapper):
            sys.stdout.reconfigure(errors="backslashreplace")  # a key must not make an ASCII terminal fail

    def write(self, line: str) -> None:
        """Buffers a line."""
        self._waiting.append(line)
        self._characters += len(line)
        if len(self._waiting) >= LINES_AT_ONCE or self._characters >= MAX_WAITING_CHARACTERS:
            self.flush()

    def flush(self) -> None:
        """Writes the buffered lines."""
        if self._waiting:
            self._waiting.append("")
            sys.stdout.write("\n".join(self._waiting))
            self._waiting.clear()
            self._characters = 0
        sys.stdout.flush()


class TextPrinter:
    """Prints as Kafka's tool does."""

    def __init__(self, *, skip_record_metadata: bool, decoder: str | None) -> None:
        """``decoder`` is the flag whose messages are printed; None for plain keys and values."""
        self._out = LineWriter()
        self._skip_record_metadata = skip_record_metadata
        self._message_text = _message_text(decoder)
        self._findings: list[DumpFinding] = []

    def print(self, event: Event, path: Path) -> DumpFinding | None:
        """Prints an event of a file's dump. A finding is kept for the end, and returned."""
        if isinstance(event, DumpFinding):
            self._findings.append(event)
            return event
        for line in lines(event, skip_record_metadata=self._skip_record_metadata, message_text=self._message_text):
            self._out.write(line)
        return None

    def flush(self) -> None:
        """Writes the buffered lines."""
        self._out.flush()

    def close(self) -> None:
        """Prints the findings."""
        self.flush()
        print("".join(f"{line}\n" for line in summary(self._findings)), end="", file=sys.stderr)


def _message_text(decoder: str | None) -> MessageText:
    """The printing function for messages of a decoder's flag."""
    match decoder:
        case "cluster_metadata":
            return metadata_message_text
        case "remote_log_metadata":
            return remote_log_lines.remote_log_text
    return coordinator_text


def summary(findings: list[DumpFinding]) -> list[str]:
    """The findings as lines: Kafka's headings with their lines, then corruption, then other findings."""
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
