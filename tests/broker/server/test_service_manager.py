"""A broker tells the service manager that has started it when it serves."""

import logging
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from odradek.broker.server.service_manager import SERVES, tell
from support.brokers.free_ports import free_port


@pytest.fixture(params=["path", "abstract"])
def manager(request: pytest.FixtureRequest) -> Iterator[tuple[socket.socket, str]]:
    """The socket of a service manager, and its name in the environment."""
    with TemporaryDirectory() as short, socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as listening:
        name = f"{short}/notify"
        if request.param == "abstract":
            if sys.platform != "linux":
                pytest.skip("only Linux has abstract names")
            listening.bind(f"\0{name}")
            yield listening, f"@{name}"
        else:
            listening.bind(name)
            yield listening, name


def test_a_state_is_sent_to_the_socket_in_the_environment(manager: tuple[socket.socket, str]) -> None:
    listening, name = manager
    assert tell(SERVES, {"NOTIFY_SOCKET": name})
    assert listening.recv(100) == b"READY=1"


def test_nothing_is_sent_without_a_service_manager() -> None:
    assert not tell(SERVES, {})


def test_a_socket_that_is_not_there_is_a_line_in_the_log(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        assert not tell(SERVES, {"NOTIFY_SOCKET": str(tmp_path / "none")})
    assert "cannot tell the service manager READY=1" in caplog.text


def test_a_broker_tells_when_it_serves_on_its_own_listeners(manager: tuple[socket.socket, str], tmp_path: Path) -> None:
    listening, name = manager
    address = f"127.0.0.1:{free_port()}"
    keys = (f"listeners=INSIDE://{address}", "listener.security.protocol.map=INSIDE:PLAINTEXT")
    overrides = [f"--override={key}" for key in (*keys, "inter.broker.listener.name=INSIDE", f"log.dirs={tmp_path}")]
    command = [sys.executable, "-m", "odradek", "serve", *overrides]
    with subprocess.Popen(command, env={**os.environ, "NOTIFY_SOCKET": name}, stdout=subprocess.DEVNULL) as broker:
        assert listening.recv(100) == b"READY=1"
        host, _, port = address.partition(":")
        socket.create_connection((host, int(port))).close()
        broker.terminate()
        assert listening.recv(100) == b"STOPPING=1"
    assert broker.returncode == 0
