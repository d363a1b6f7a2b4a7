"""Runs libraries and suites at Odradek and at a real Kafka, and writes the results and the page.

    make client-libraries LIBRARIES="NAME..."

``libraries:NAME`` and ``suites:NAME`` are one of both. Without names, all of them are run. Results of others stay as
they are.
"""

import sys
import tempfile
import traceback
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from support.brokers.our_broker import OurBroker
from support.kafka.real_kafka import RealKafka
from systems.libraries import results
from systems.libraries.installed import installed
from systems.libraries.scenario import Scenario
from systems.libraries.suite_run import results_of
from systems.libraries.suites import SUITES, Suite
from systems.libraries.table import LIBRARIES, Library

BROKERS = {"odradek": OurBroker, "kafka": RealKafka}


def scenarios(library: Library, directory: Path) -> dict[str, str]:
    """How the scenario of a library ends at each broker."""
    program = installed(library, directory)
    found: dict[str, str] = {}
    for name, kind in BROKERS.items():
        there = directory / name
        there.mkdir()
        with kind(there) as broker:
            try:
                Scenario(program, library.verbs, broker.bootstrap_servers, there).run()
                found[name] = results.PASSED
            except AssertionError as error:
                traceback.print_exc()
                found[name] = f"failed: {str(error).partition(' ended with')[0][:100]}"
    return found


def suites(suite: Suite, directory: Path) -> dict[str, Any]:
    """The counts of a suite at each broker."""
    found: dict[str, Any] = {}
    for name, kind in BROKERS.items():
        there = directory / name
        there.mkdir()
        with kind(there, suite.configs) as broker:
            found[name] = results.Counts.of(results_of(suite, broker.bootstrap_servers, there))
    return found


def main(names: list[str]) -> None:
    """Runs what is named."""
    date = datetime.now(UTC).date().isoformat()
    rows: list[Library | Suite] = [*LIBRARIES, *SUITES]
    for one in rows:
        kind = "libraries" if isinstance(one, Library) else "suites"
        if names and one.name not in names and f"{kind}:{one.name}" not in names:
            continue
        with tempfile.TemporaryDirectory() as directory:
            try:
                if isinstance(one, Library):
                    found: dict[str, Any] = dict(scenarios(one, Path(directory)))
                else:
                    found = suites(one, Path(directory))
            except Exception:  # noqa: BLE001 - the others are run all the same, and the row is missing
                traceback.print_exc()
                continue
        print(one.name, found, flush=True)
        data = results.read()
        data[kind][one.name] = {**found, "version": one.version, "date": date}
        results.DATA.write_text(results.encoded(data))
    results.PAGE.write_text(results.page(results.read()))


if __name__ == "__main__":
    main(sys.argv[1:])
