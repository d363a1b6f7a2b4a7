"""Tables of command lines as users type them, with the expected output, and functions that run them.

A table is a text. Each row begins with its command line, ``$ kafka-topics.sh --list ...``, and ends at an empty line:

    $ kafka-topics.sh --list --bootstrap-server localhost:9092    a backslash at the end continues on the next line
    orders ...          standard output has this line; ``...`` is any text, any space is any other, lines come in order
    ! WARN ...          so does standard error
    ~ payments          no line of the output is this one
    ? ... in progress.  while a line of the output is this one, the command is run again
    [1]                 the exit code, if it is not 0
    [1 for 0]           the exit code, and that of Kafka's tool (``compared_lines`` asks it)

Outside of rows, ``@ name text`` writes a line of a file that rows use, and ``#`` begins a comment. Of the shell's
syntax a row may use ``echo TEXT | COMMAND``, ``printf``, ``COMMAND < FILE``, ``COMMAND > FILE``,
``NAME=$(COMMAND)``, and ``$NAME``.
"""

import glob
import re
import shlex
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import NamedTuple

from support.eventually import eventually


class Row(NamedTuple):
    """A command line with its expected results."""

    line: int
    command: str
    out: tuple[str, ...]
    err: tuple[str, ...]
    absent: tuple[str, ...]
    code: int
    kafkas_code: int | None = None
    """The exit code of Kafka's tool, if the row has it."""
    unfinished: tuple[str, ...] = ()
    """Lines that say that the command is to be run again."""


class Output(NamedTuple):
    """The output of a command."""

    code: int
    out: str
    err: str


class Invocation(NamedTuple):
    """A parsed command line."""

    words: list[str]
    """The program and its arguments."""
    given: bytes
    """Standard input."""
    into: str | None
    """The file that takes standard output."""
    variable: str | None
    """The variable that takes standard output."""


Run = Callable[[list[str], bytes], Output]
"""Runs a program with arguments and standard input."""


def rows_of(text: str) -> tuple[list[Row], dict[str, str]]:
    """The rows of a table, and its files."""
    rows: list[Row] = []
    files: dict[str, str] = {}
    for line, block in _blocks(text):
        if block[0].startswith("@ "):
            name, _, content = block[0].removeprefix("@ ").partition(" ")
            files[name] = files.get(name, "") + content + "\n"
            continue
        assert block[0].startswith("$ "), f"line {line}: a row begins with '$ '"
        codes = re.fullmatch(r"\[(\d+)(?: for (\d+))?\]", block[-1])
        code, kafkas_code = (int(codes[1]), int(codes[2]) if codes[2] else None) if codes else (0, None)
        block = block[:-1] if codes else block
        err = tuple(one[2:] for one in block[1:] if one.startswith("! "))
        absent = tuple(one[2:] for one in block[1:] if one.startswith("~ "))
        unfinished = tuple(one[2:] for one in block[1:] if one.startswith("? "))
        out = tuple(one for one in block[1:] if not one.startswith(("! ", "~ ", "? ")))
        rows.append(Row(line, block[0][2:], out, err, absent, code, kafkas_code, unfinished))
    return rows, files


def _blocks(text: str) -> list[tuple[int, list[str]]]:
    """The blocks of lines between empty ones, without comments, each with the number of its first line."""
    blocks: list[tuple[int, list[str]]] = []
    inside, unfinished = False, ""
    for number, line in enumerate(text.splitlines(), 1):
        if line.startswith("#"):
            continue
        if line.endswith("\\"):
            unfinished += line[:-1].rstrip() + " "
            continue
        line, unfinished = unfinished + (line.strip() if unfinished else line), ""
        if not line.strip():
            inside = False
            continue
        is_file = line.startswith("@ ")
        if is_file or not inside:
            blocks.append((number, []))
        blocks[-1][1].append(line)
        inside = not is_file
    return blocks


def invocation(command: str, variables: Mapping[str, str]) -> Invocation:
    """Parses a command line as a shell does."""
    assigned = re.fullmatch(r'(\w+)="?\$\((.*)\)"?', command)
    variable, command = (assigned[1], assigned[2]) if assigned else (None, command)
    words = shlex.split(filled(command, variables))
    given, into = b"", None
    if "|" in words:
        writer, words = words[: words.index("|")], words[words.index("|") + 1 :]
        given = _written(writer)
    if "<" in words:
        at = words.index("<")
        given = Path(words[at + 1]).read_bytes()
        del words[at : at + 2]
    if ">" in words:
        at = words.index(">")
        into = words[at + 1]
        del words[at : at + 2]
    spread = [sorted(glob.glob(word)) if word.startswith("/") and "*" in word else [word] for word in words]
    return Invocation([word for some in spread for word in some], given, into, variable)


def filled(text: str, variables: Mapping[str, str]) -> str:
    """A text with the values of variables."""
    for name, value in variables.items():
        text = text.replace(name, value)
    return text


def _written(words: list[str]) -> bytes:
    """The output of ``echo`` or ``printf``."""
    assert words[0] in ("echo", "printf"), words
    text = " ".join(words[1:])
    if words[0] == "echo":
        return text.encode() + b"\n"
    return text.replace("\\n", "\n").replace("\\t", "\t").encode()


def run_table(text: str, run: Run, variables: Mapping[str, str]) -> list[str]:
    """Runs the rows in order, in the working directory. Returns the differences from the expected results."""
    rows, files = rows_of(text)
    known = dict(variables)
    for name, content in files.items():
        Path(name).write_text(filled(content, known))
    wrong = []
    for row in rows:
        asked = invocation(row.command, known)
        output = _finished(row, partial(run, asked.words, asked.given))
        if asked.into is not None:
            Path(asked.into).write_text(output.out)
        if asked.variable is not None:
            known["$" + asked.variable] = output.out.strip()
        expected = row._replace(out=tuple(filled(line, known) for line in row.out))
        wrong += [f"line {row.line}: {row.command}\n{problem}" for problem in problems(expected, output)]
    return wrong


def _finished(row: Row, run: Callable[[], Output]) -> Output:
    """The output of a row's command, which is run until it has none of the row's unfinished lines."""
    output = run()

    def is_finished() -> bool:
        nonlocal output
        if all(first_missing((line,), output.out) is not None for line in row.unfinished):
            return True
        output = run()
        return False

    eventually(f"line {row.line}: {row.command} without {row.unfinished}", is_finished)
    return output


def problems(row: Row, output: Output) -> list[str]:
    """The differences between a row and what its command printed."""
    printed = f"\n--- exit code {output.code}, standard output:\n{output.out}--- standard error:\n{output.err}"
    found = []
    if output.code != row.code:
        found.append(f"exit code {output.code}, not {row.code}")
    for expected, text in ((row.out, output.out), (row.err, output.err)):
        missing = first_missing(expected, text)
        if missing is not None:
            found.append(f"no line {missing!r}")
    found += [f"a line {line!r}" for line in row.absent if first_missing((line,), output.out) is None]
    return [one + printed for one in found]


def first_missing(expected: tuple[str, ...], text: str) -> str | None:
    """The first expected line that does not come after those before it."""
    lines = iter([_spaced(line) for line in text.splitlines()])
    for one in expected:
        pattern = re.compile(".*".join(re.escape(part) for part in _spaced(one).split("...")))
        if not any(pattern.fullmatch(line) for line in lines):
            return one
    return None


def _spaced(line: str) -> str:
    return " ".join(line.split())
