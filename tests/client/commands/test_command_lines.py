"""The commands with flags of other tools, with wrong values, and with a closed pipe as output."""

import json
import os
import subprocess
import sys
from importlib import import_module
from importlib.metadata import version

import pytest

from odradek.__main__ import COMMANDS, main, run_command

RECORDS = 3_000
ODRADEK = [sys.executable, "-m", "odradek"]


def into_a_closed_pipe(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Runs a command whose output pipe is closed."""
    reader, writer = os.pipe()
    os.close(reader)
    try:
        return subprocess.run([*ODRADEK, *arguments], stdout=writer, stderr=subprocess.PIPE, text=True, check=False)
    finally:
        os.close(writer)


@pytest.mark.parametrize("command", ["", *COMMANDS])
def test_help_into_a_closed_pipe_ends_quietly_for_every_command(command: str) -> None:
    ended = into_a_closed_pipe(*filter(None, [command]), "--help")
    assert ended.stderr == ""
    assert ended.returncode in (0, 1)  # argparse ignores a closed pipe


def test_output_into_a_closed_pipe_ends_quietly() -> None:
    for arguments in (["--version"], ["protocol", "list"], ["protocol", "show", "0"], ["storage", "format", "--help"]):
        ended = into_a_closed_pipe(*arguments)
        assert (ended.returncode, ended.stderr) == (1, ""), arguments


def test_output_into_a_stream_that_was_closed_before_the_start_ends_quietly() -> None:
    command = ["sh", "-c", 'exec "$@" <&- >&-', "sh", *ODRADEK, "get-offsets", "--help"]
    ended = subprocess.run(command, stderr=subprocess.PIPE, text=True, check=False)
    assert (ended.returncode, ended.stderr) == (0, "")


def test_ctrl_c_while_a_command_is_imported_ends_quietly(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    def interrupted(name: str) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("odradek.__main__.import_module", interrupted)
    monkeypatch.setattr(sys, "argv", ["odradek", "serve"])
    assert main() == 130
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize(
    "arguments", [("consume", "--include"), ("get-offsets", "--topic"), ("topics", "--list", "--topic")]
)
def test_a_malformed_pattern_of_topics_is_told(
    bootstrap: str, capfd: pytest.CaptureFixture[str], arguments: tuple[str, ...]
) -> None:
    assert run_command([*arguments, "(", "--bootstrap-server", bootstrap]) == 1
    assert f"{arguments[-1]} ( is not a regular expression: missing )" in capfd.readouterr().err


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_says_its_version(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    for arguments in ([command, "--version"], [command, "--topic", "t", "--version"]):
        assert run_command(arguments) == 0
        assert capsys.readouterr().out == f"odradek {version('odradek')}\n"


def wrong_usage(capfd: pytest.CaptureFixture[str], command: str, *arguments: str) -> str:
    """The error text for arguments that a command refuses before it connects to a broker."""
    module, _, function = COMMANDS[command][0].partition(":")
    assert getattr(import_module(module), function)([*arguments]) == 2
    return capfd.readouterr().err


@pytest.mark.parametrize(
    ("command", "flag", "meant"),
    [
        ("topics", "--zookeeper", ["--bootstrap-server"]),
        ("produce", "--broker-list", ["--bootstrap-server"]),
        ("get-offsets", "--broker-list", ["--bootstrap-server"]),
    ],
)
def test_a_flag_of_kafkas_scripts_names_what_says_the_same_here(
    capfd: pytest.CaptureFixture[str], command: str, flag: str, meant: list[str]
) -> None:
    said = wrong_usage(capfd, command, flag, "x")
    assert f"No such option '{flag}'. Use {', '.join(meant)} instead." in said


@pytest.mark.parametrize("wrong", [("--compression-codec", "brotli"), ("--acks", "2")])
def test_a_wrong_value_of_the_producer_is_wrong_usage(
    capfd: pytest.CaptureFixture[str], wrong: tuple[str, str]
) -> None:
    said = wrong_usage(capfd, "produce", "--topic", "t", *wrong)
    assert f"'{wrong[1]}' is not one of" in said


def test_produce_sends_everything_though_nobody_reads_where_the_records_are(bootstrap: str, name: str) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    environment = {**os.environ, "ODRADEK_BOOTSTRAP_SERVER": bootstrap}
    odradek = [sys.executable, "-m", "odradek"]
    try:
        produced = subprocess.run(
            [*odradek, "produce", "--topic", name, "--json"],
            input="".join(f"{number}\n" for number in range(RECORDS)),
            text=True,
            stdout=writer,
            stderr=subprocess.PIPE,
            env=environment,
            check=False,
        )
    finally:
        os.close(writer)
    assert (produced.returncode, produced.stderr) == (0, "")
    ends = subprocess.run(
        [*odradek, "get-offsets", "--topic", name, "--json"], capture_output=True, env=environment, check=True
    )
    assert [end["offset"] for end in json.loads(ends.stdout)] == [RECORDS]
