"""What the commands say to flags of other tools and to wrong values, and what they do when nobody reads on."""

import json
import os
import subprocess
import sys
from importlib import import_module

import pytest

from odradek.__main__ import COMMANDS

RECORDS = 3_000


def wrong_usage(capfd: pytest.CaptureFixture[str], command: str, *arguments: str) -> str:
    """What a command says of arguments that it refuses before it asks a broker."""
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
    assert f"No such option '{flag}'. Here that is {', '.join(meant)}." in said


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
