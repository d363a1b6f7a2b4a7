"""Client libraries of many languages, each as its registry has it, with its default settings (``scenario.py``).

docs/clients.md has the results beside those of Apache Kafka.
"""

import shutil
from pathlib import Path

import pytest

from support.brokers.our_broker import OurBroker
from support.kafka.java import java_or_skip
from systems.libraries.installed import installed
from systems.libraries.scenario import Scenario
from systems.libraries.table import LIBRARIES, Library, Registry

IN_CI = {"kafkajs", "github.com/IBM/sarama"}
"""The most used libraries that no other test of CI runs. Each takes some 15 s."""

PACKAGE_MANAGERS = {Registry.NPM: "npm", Registry.GO: "go", Registry.CRATES: "cargo"}


def of_ci_or_nightly(library: Library) -> object:
    """A row as a parameter, with its marks."""
    marks = [pytest.mark.ci if library.name in IN_CI else pytest.mark.nightly]
    if library.registry is Registry.MAVEN:
        marks.append(pytest.mark.java)
    return pytest.param(library, marks=marks, id=library.name)


def skip_without(registry: Registry) -> None:
    """Skips the test if the registry's package manager is missing."""
    if registry is Registry.MAVEN:
        java_or_skip()
    manager = PACKAGE_MANAGERS.get(registry)
    if manager is not None and shutil.which(manager) is None:
        pytest.skip(f"needs {manager}")


@pytest.mark.timeout(1800)  # some build librdkafka
@pytest.mark.parametrize("library", map(of_ci_or_nightly, LIBRARIES))
def test_a_library(library: Library, tmp_path: Path) -> None:
    skip_without(library.registry)
    program = installed(library, tmp_path)
    with OurBroker(tmp_path) as broker:
        Scenario(program, library.verbs, broker.bootstrap_servers, tmp_path).run()
        assert " ERROR " not in broker.log()
