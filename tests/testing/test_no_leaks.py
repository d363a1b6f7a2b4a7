"""A stopped broker leaves no socket open, because a user's tests may treat every warning as an error."""

import gc
import socket
import threading
import warnings

from odradek.testing.broker.in_process import InProcessBroker

KILLS = 20


def test_a_kill_closes_connections_that_were_just_accepted(kafka: InProcessBroker) -> None:
    """Without a close in the acceptor, nearly every kill during connection attempts leaves one socket open."""
    is_done = threading.Event()

    def connect() -> None:
        while not is_done.is_set():
            with socket.socket() as client:
                client.connect_ex((kafka.host, kafka.port))

    clients = [threading.Thread(target=connect) for _ in range(3)]
    gc.collect()  # what earlier tests of this process left in cycles would be reported here
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always", ResourceWarning)
        for client in clients:
            client.start()
        try:
            for _ in range(KILLS):
                kafka.kill()
                kafka.start()
        finally:
            is_done.set()
            for client in clients:
                client.join()
        kafka.kill()
        gc.collect()
    assert [str(warning.message) for warning in warned] == []
