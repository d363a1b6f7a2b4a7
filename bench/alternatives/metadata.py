"""The first answered Metadata request: the sign that a broker serves."""

import socket
import struct
import subprocess
import time

PATIENCE_S = 60
LOOK_AGAIN_S = 0.001
_BODY = struct.pack(">hhih5si", 3, 1, 1, 5, b"bench", -1)
REQUEST = struct.pack(">i", len(_BODY)) + _BODY
"""Metadata, version 1, of all topics."""


def wait_for_metadata(address: str, process: subprocess.Popen[bytes] | None = None) -> None:
    """Returns when an answer names a broker. AssertionError if ``process`` ends or nothing comes within a minute."""
    deadline = time.monotonic() + PATIENCE_S
    while not names_a_broker(address):
        assert process is None or process.poll() is None, f"the broker of {address} ended"
        assert time.monotonic() < deadline, f"no answer from {address}"
        time.sleep(LOOK_AGAIN_S)


def names_a_broker(address: str) -> bool:
    """Whether the broker answers, with at least one broker: a Kafka that is not ready yet names none."""
    host, _, port = address.rpartition(":")
    try:
        with socket.create_connection((host, int(port)), PATIENCE_S) as connection:
            connection.sendall(REQUEST)
            answer = connection.makefile("rb").read(12)
    except OSError:
        return False
    return len(answer) == 12 and int(struct.unpack(">iii", answer)[2]) > 0
