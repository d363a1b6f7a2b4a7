"""A command starts fast, and reports wrong usage, or that no broker answers."""

import os
import subprocess
import sys
from importlib import import_module

import pytest

from odradek.__main__ import COMMANDS

from ..command_shell import Shell

OURS = [
    "topics", "produce", "consume", "groups", "transactions", "configs", "get-offsets", "health", "acls",
    "delegation-tokens", "client-metrics", "log-dirs", "delete-records", "leader-election", "broker-api-versions",
    "cluster", "features", "metadata-quorum", "reassign-partitions", "perf", "verify",
    "streams-application-reset", "share-groups", "streams-groups",
]  # fmt: skip


@pytest.mark.parametrize("command", OURS)
def test_help_and_wrong_usage(command: str, capfd: pytest.CaptureFixture[str]) -> None:
    module, _, function = COMMANDS[command][0].partition(":")
    run = getattr(import_module(module), function)
    assert run(["--help"]) == 0
    assert f"Usage: odradek {command}" in capfd.readouterr().out
    assert run(["--no-such-flag"]) == 2
    assert "No such option" in capfd.readouterr().err


UNREACHABLE = {
    "topics": ["--list"],
    "produce": ["--topic", "t", "--tombstone", "--key", "k"],
    "consume": ["--topic", "t"],
    "groups": ["--list"],
    "transactions": ["list"],
    "configs": ["--describe", "--topic", "t"],
    "get-offsets": ["--topic", "t"],
    "health": [],
    "acls": ["--list"],
    "delegation-tokens": ["--describe"],
    "client-metrics": ["--list"],
    "log-dirs": ["--describe"],
    "leader-election": ["--election-type", "preferred", "--all-topic-partitions"],
    "broker-api-versions": [],
    "cluster": ["cluster-id"],
    "features": ["describe"],
    "metadata-quorum": ["describe", "--status"],
    "reassign-partitions": ["--list"],
    "streams-application-reset": ["--application-id", "a"],
    "share-groups": ["--list"],
    "streams-groups": ["--list"],
    "verify": [],
}


@pytest.mark.parametrize("command", UNREACHABLE)
def test_no_broker_there_is_said_with_the_address(command: str, capfd: pytest.CaptureFixture[str]) -> None:
    module, _, function = COMMANDS[command][0].partition(":")
    run = getattr(import_module(module), function)
    assert run(["--bootstrap-server", "127.0.0.1:1", *UNREACHABLE[command]]) == 1
    err = capfd.readouterr().err
    assert (
        f"odradek {command}: no broker answers at 127.0.0.1:1: cannot connect to 127.0.0.1:1: Connection refused" in err
    )


HEAVY = {"construct", "cramjam", "numpy", "prometheus_client", "pyarrow", "pyspark", "pytest", "rich", "uvloop"}
SLOW = {"email", "http", "importlib.metadata", "zipfile"}
ONLY_TO_ASK_A_BROKER = {"asyncio", "ssl", "logging", "odradek.client.cluster.cluster", "odradek.protocol.codec"}
OF_A_GROUP = {"odradek.client.group.group", "odradek.protocol.messages.groups"}
A_REQUEST = {
    "topics": ["--list"],
    "produce": ["--topic", "imported", "--file", os.devnull],
    "consume": ["--topic", "imported", "--partition", "0", "--offset", "earliest", "--until-end"],
    "groups": ["--list"],
    "share-groups": ["--list"],
    "streams-groups": ["--list"],
    "transactions": ["list"],
    "configs": ["--describe", "--topic", "imported"],
    "get-offsets": [],
    "health": [],
}


def imported_by(code: str) -> set[str]:
    """The modules that a new process has executed after running some code. Its output is ignored."""
    code += (
        "\nimport sys; print(*(name for name, module in sys.modules.items() if type(module).__name__ != '_LazyModule'))"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(run.stdout.splitlines()[-1].split())


def not_wanted(command: str, loaded: set[str]) -> set[str]:
    """The imported modules that a command never needs: heavy libraries, other packages, other commands."""
    rooms = {name for name in loaded if name.startswith(("odradek.broker", "odradek.storage", "odradek.testing"))}
    others = {COMMANDS[other][0].partition(":")[0] for other in OURS if other != command}
    return loaded & (HEAVY | SLOW | others) | rooms


@pytest.mark.parametrize("command", OURS)
def test_help_and_wrong_usage_import_nothing_that_asks_a_broker(command: str) -> None:
    """The imports determine the start-up time: each of these would add 5 ms or more to every call."""
    module = COMMANDS[command][0].partition(":")[0]
    loaded = imported_by(f"import {module}")
    assert not not_wanted(command, loaded)
    assert not loaded & ONLY_TO_ASK_A_BROKER


@pytest.mark.parametrize("command", A_REQUEST)
def test_a_request_imports_only_what_it_needs(command: str, shell: Shell, bootstrap: str) -> None:
    shell.produce("imported", "a\n")
    module, _, function = COMMANDS[command][0].partition(":")
    arguments = ["--bootstrap-server", bootstrap, *A_REQUEST[command]]
    loaded = imported_by(f"import {module} as m; assert m.{function}({arguments}) == 0")
    assert not not_wanted(command, loaded)
    if command == "consume":
        assert not loaded & OF_A_GROUP


@pytest.mark.parametrize(
    "command", ["serve", "test-broker", "storage", "dump-log", "audit", "compact", "export", "import", "protocol"]
)
def test_the_help_of_other_commands_imports_nothing_that_it_does_not_show(command: str) -> None:
    """The help is requested through the program, as by a user."""
    loaded = imported_by(
        f"from odradek.__main__ import run_command\ntry: run_command(['{command}', '--help'])\nexcept SystemExit: pass"
    )
    assert not loaded & (HEAVY | SLOW | {"asyncio", "ssl"})


@pytest.mark.parametrize("command", ["audit", "compact", "export", "import"])
def test_the_help_of_a_job_imports_no_job(command: str) -> None:
    """`--help` takes as long as its imports. Modules that read and write logs are imported after the arguments are
    checked.
    """
    module = COMMANDS[command][0].partition(":")[0]
    loaded = imported_by(f"import {module}")
    assert not loaded & HEAVY
    assert not {name for name in loaded if name.startswith("odradek.pipeline") and name.endswith((".job", "_job"))} - {
        "odradek.pipeline.engine.job"
    }
