"""What was run, and how it ended: the data of docs/clients.md.

``record.py`` writes both.
"""

import json
from pathlib import Path
from typing import Any, NamedTuple

from systems.libraries.suites import SUITES, Suite
from systems.libraries.table import LIBRARIES, Library

ROOT = Path(__file__).parents[3]
DATA = ROOT / "docs" / "developers" / "client-libraries.json"
PAGE = ROOT / "docs" / "clients.md"

PASSED = "passed"
VERBS = {
    "create": "topic",
    "produce": "writes",
    "consume": "group",
    "read": "reads without a group",
    "transact": "transactions",
}
"""The steps of the scenario, for the page."""


class Counts(NamedTuple):
    """Results of a suite at one broker."""

    passed: int
    failed: list[str]
    skipped: int

    @classmethod
    def of(cls, results: dict[str, str]) -> "Counts":
        """Counts the tests that passed and were skipped, and names those that failed."""
        failed = sorted(name for name, how in results.items() if how == "fail")
        skipped = sum(how == "skip" for how in results.values())
        return cls(len(results) - len(failed) - skipped, failed, skipped)


def read() -> dict[str, Any]:
    """The data; empty before the first run."""
    if not DATA.exists():
        return {"libraries": {}, "suites": {}}
    found: dict[str, Any] = json.loads(DATA.read_text())
    return found


def encoded(data: dict[str, Any]) -> str:
    """The data as they are in the file."""
    return json.dumps(data, indent=1, sort_keys=True) + "\n"


HEAD = """\
# Does my client work?

Clients of Kafka work with Odradek unchanged; only the address is another. This page has the client libraries that were
run, each as its registry has it, with its default settings, and beside Odradek's results those of Apache Kafka 4.4.0.

- [Libraries](#libraries)
- [Their own tests](#their-own-tests)

[getting-started.md](getting-started.md) has a first program for some of them, [protocol.md](protocol.md) the versions
of each API that are served, [security.md](security.md#which-clients-were-tested) the clients that were tested with TLS
and logins. Systems that use Kafka, such as Kafka Streams, Kafka Connect, Flink, Spark and Celery, are in
[how-it-is-tested.md](developers/how-it-is-tested.md#real-systems), and so are share groups.

This page is generated. `make client-libraries` runs everything at both brokers and prints the page; `LIBRARIES=kafkajs`
runs one library.

## Libraries

A library creates a topic of 3 partitions, writes 20 records, and reads and commits them in a group. It writes 20 more,
which a second process in the same group reads. Then it commits a transaction and aborts one. Each library does as much
of this as it has functions for. What it wrote, created and committed is compared with what confluent-kafka finds
(`tests/systems/libraries/test_libraries.py`).

| library | version | from | language | what it did | Odradek | Apache Kafka 4.4.0 | run on |
|---|---|---|---|---|---|---|---|
"""

SUITES_HEAD = """
## Their own tests

Some packages carry the tests of the library. `tests/systems/libraries/test_suites.py` runs them. The tests
themselves are unchanged, but for the port in kafka-go's, which is 9092 there. `suites.py` and `suite_run.py` beside it
have the settings, and what is left out: three of kafka-go's tests, which dereference nil, and Cargo's lock files, which
need an older compiler. Tests that need no broker are counted, too; those that a suite skips are not.

| library | version | tests | Odradek | Apache Kafka 4.4.0 | run on |
|---|---|---:|---|---|---|
"""

FAILING_HEAD = """
These did not pass at Odradek:

| library | test | Apache Kafka 4.4.0 | why |
|---|---|---|---|
"""


def page(data: dict[str, Any]) -> str:
    """The text of docs/clients.md."""
    text = HEAD + "".join(
        _library_row(one, data["libraries"][one.name]) for one in LIBRARIES if one.name in data["libraries"]
    )
    text += "".join(f"\n{', '.join(names)}: {note}\n" for note, names in _notes().items())
    suites = [one for one in SUITES if one.name in data["suites"]]
    text += SUITES_HEAD + "".join(_suite_row(one, data["suites"][one.name]) for one in suites)
    failing = [row for one in suites for row in _failing_rows(one, data["suites"][one.name])]
    return text + (FAILING_HEAD + "".join(failing) if failing else "")


def _notes() -> dict[str, list[str]]:
    """The libraries that have a note, by their notes."""
    found: dict[str, list[str]] = {}
    for one in LIBRARIES:
        if one.note:
            found.setdefault(one.note, []).append(one.name)
    return found


def _library_row(library: Library, found: dict[str, str]) -> str:
    does = ", ".join(VERBS[verb] for verb in VERBS if verb in library.verbs)
    cells = [library.name, library.version, library.registry, library.language, does]
    return _row(*cells, found["odradek"], found["kafka"], found["date"])


def _suite_row(suite: Suite, found: dict[str, Any]) -> str:
    ours, kafkas = Counts(*found["odradek"]), Counts(*found["kafka"])
    total = ours.passed + len(ours.failed)
    return _row(suite.name, suite.version, total, _told(ours), _told(kafkas), found["date"])


def _told(counts: Counts) -> str:
    return f"{counts.passed} passed" + (f", {len(counts.failed)} failed" if counts.failed else "")


def _failing_rows(suite: Suite, found: dict[str, Any]) -> list[str]:
    ours, kafkas = Counts(*found["odradek"]), Counts(*found["kafka"])
    return [
        _row(suite.name, f"`{test}`", "failed" if test in kafkas.failed else PASSED, suite.failing.get(test, ""))
        for test in ours.failed
    ]


def _row(*cells: object) -> str:
    return f"| {' | '.join(map(str, cells))} |\n"
