"""Clients get a listener's advertised address, also for a listener without a host."""

import socket
from pathlib import Path

import pytest

from odradek.broker.config.listeners import Listener
from odradek.broker.metadata.image.image import Endpoint
from odradek.broker.network.listening import BoundListener
from odradek.broker.server import commands
from odradek.broker.server.advertising import canonical_host_name, endpoints
from odradek.broker.server.serve_options import serve
from support.kafka.java import java_class, java_or_skip, run_class

NO_NAME = "no-such-machine.invalid"


def plaintext(host: str, port: int) -> Listener:
    return Listener("PLAINTEXT", "PLAINTEXT", host, port)


def test_hosts_are_told_as_configured_and_ports_of_the_systems_choice_as_bound() -> None:
    other = Listener("OTHER", "PLAINTEXT", "", 0)
    bound = [BoundListener(plaintext("", 0), [], 4711), BoundListener(other, [], 4712)]
    told = endpoints([plaintext("broker.example", 0)], bound)
    assert told == [Endpoint("PLAINTEXT", "broker.example", 4711)]


@pytest.mark.java
def test_without_a_host_it_is_the_name_that_kafka_tells() -> None:
    java_or_skip()
    asked = run_class(java_class("MachineName"))
    assert asked.returncode == 0, asked.stderr
    told = endpoints([plaintext("", 9092)], [BoundListener(plaintext("0.0.0.0", 9092), [], 9092)])
    assert told == [Endpoint("PLAINTEXT", asked.stdout, 9092)]


def test_a_name_that_does_not_lead_back_is_told_as_the_address(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(socket, "gethostname", lambda: "localhost")
    monkeypatch.setattr(socket, "getnameinfo", lambda address, flags: (NO_NAME, "0"))
    assert canonical_host_name() == "127.0.0.1"


def test_a_machine_whose_name_has_no_address_does_not_start_and_says_what_to_set(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(socket, "gethostname", lambda: NO_NAME)
    log_dir = tmp_path / "data"
    arguments = ["--override", "listeners=PLAINTEXT://:0", "--override", f"log.dirs={log_dir}"]
    monkeypatch.setattr(commands, "set_up_logging", lambda *_: None)  # otherwise it would stay after this test
    assert serve(arguments) == 1
    error = capsys.readouterr().err
    assert f"clients of the listener PLAINTEXT://:0 would get this machine's name, {NO_NAME}" in error
    assert "set advertised.listeners" in error
    assert not log_dir.exists()
