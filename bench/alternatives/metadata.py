"""Waits for the first answered Metadata request."""

import subprocess
import time

from support.brokers.asking import Asking

PATIENCE_S = 60
LOOK_AGAIN_S = 0.001


def wait_for_metadata(address: str, process: subprocess.Popen[bytes] | None = None) -> None:
    """Returns when an answer names a broker. AssertionError if ``process`` ends or nothing comes within a minute."""
    broker = Asking(int(address.rpartition(":")[2]), PATIENCE_S)
    deadline = time.monotonic() + PATIENCE_S
    while not broker.names_a_broker():
        assert process is None or process.poll() is None, f"the broker of {address} ended"
        assert time.monotonic() < deadline, f"no answer from {address}"
        time.sleep(LOOK_AGAIN_S)
