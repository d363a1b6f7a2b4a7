"""A process with an in-process broker forks: the broker can still be restarted and killed as without children."""

import contextlib
import multiprocessing
import os
import socket
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from multiprocessing.connection import Connection

import pytest

from odradek.protocol.codec.header import encode_request
from odradek.protocol.messages.metadata import ApiVersionsRequest
from odradek.testing.broker import forked
from odradek.testing.broker.in_process import InProcessBroker
from odradek.testing.clusters.cluster import KafkaCluster

Factory = Callable[..., InProcessBroker]
ASK = encode_request(ApiVersionsRequest(), 0, 7, "test")
FORK = multiprocessing.get_context("fork")


def connect(broker: InProcessBroker) -> socket.socket:
    return socket.create_connection((broker.host, broker.port))


def ask(one: socket.socket) -> int:
    """Sends ApiVersions; returns the correlation id of the answer."""
    one.sendall(ASK)
    with one.makefile("rb") as stream:
        (size,) = struct.unpack(">i", stream.read(4))
        correlation_id: int = struct.unpack(">i", stream.read(size)[:4])[0]
    return correlation_id


def worker(broker: InProcessBroker, pipe: Connection) -> None:
    """A prefork worker: for each word it reports whether it can reach the broker. It ends at the end of the pipe."""
    with contextlib.suppress(EOFError):
        while pipe.recv() != "end":
            with connect(broker) as one:
                pipe.send((ask(one), broker.is_running))


@contextlib.contextmanager
def workers(broker: InProcessBroker, count: int) -> Iterator[list[Connection]]:
    """Forked children that run during the block."""
    pipes = [FORK.Pipe() for _ in range(count)]
    children = [FORK.Process(target=worker, args=(broker, theirs)) for _, theirs in pipes]
    for child in children:
        child.start()
    try:
        yield [ours for ours, _ in pipes]
    finally:
        for ours, _ in pipes:
            ours.send("end")
        for child in children:
            child.join()
    assert [child.exitcode for child in children] == [0] * count


def reached(pipes: list[Connection]) -> list[tuple[int, bool]]:
    for pipe in pipes:
        pipe.send("ask")
    return [pipe.recv() for pipe in pipes]


def test_the_broker_restarts_and_is_killed_while_forked_children_live(kafka_broker_factory: Factory) -> None:
    broker = kafka_broker_factory()
    port = broker.port
    with connect(broker) as before, workers(broker, 3) as pipes:
        assert ask(before) == 7, "the fork has left the parent's connections alone"
        assert reached(pipes) == [(7, False)] * 3, "the broker is the parent's"
        broker.restart()
        assert before.recv(1) == b"", "a client hears that its connection is closed"
        assert broker.port == port
        assert reached(pipes) == [(7, False)] * 3
        with connect(broker) as again, workers(broker, 1) as later:
            assert ask(again) == 7
            broker.kill()
            with contextlib.suppress(ConnectionResetError):
                assert again.recv(1) == b""
            with pytest.raises(ConnectionRefusedError):
                connect(broker)
            broker.start()
            assert reached([*pipes, *later]) == [(7, False)] * 4


def test_the_port_is_free_when_a_fork_returns_however_slow_the_child_is(
    kafka_broker_factory: Factory, monkeypatch: pytest.MonkeyPatch
) -> None:
    broker = kafka_broker_factory()
    close_sockets = forked._close_sockets_on

    def close_sockets_late(ports: set[int]) -> None:
        time.sleep(0.5)  # as if a busy machine did not run the child at once
        close_sockets(ports)

    monkeypatch.setattr(forked, "_close_sockets_on", close_sockets_late)
    with workers(broker, 1) as pipes:
        broker.restart()
        assert reached(pipes) == [(7, False)]


def test_the_port_of_the_metrics_is_free_again_too(kafka_broker_factory: Factory) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    broker = kafka_broker_factory({"odradek.metrics.listener": f"127.0.0.1:{port}"})
    with workers(broker, 1):
        broker.restart()
        socket.create_connection(("127.0.0.1", port)).close()


def test_a_child_keeps_sockets_that_are_not_the_brokers(kafka_broker_factory: Factory) -> None:
    broker = kafka_broker_factory()
    own = socket.create_server(("127.0.0.1", 0))
    client = connect(broker)

    def use_them(pipe: Connection) -> None:
        with socket.create_connection(own.getsockname()) as one:
            pipe.send((ask(client), one.getpeername()[1]))

    ours, theirs = FORK.Pipe()
    child = FORK.Process(target=use_them, args=(theirs,))
    child.start()
    assert ours.recv() == (7, own.getsockname()[1])
    child.join()
    assert child.exitcode == 0
    own.close()
    client.close()


def test_a_child_that_leaves_the_with_block_and_ends_as_any_program_does_harms_nothing() -> None:
    program = """
import os, socket, sys, tempfile
from pathlib import Path
from odradek.testing.broker import forked
from odradek.testing.broker.in_process import InProcessBroker

with InProcessBroker(Path(tempfile.mkdtemp())) as broker:
    child = os.fork()
    if child == 0:
        sys.exit(7)  # leaves the block, and runs all destructors
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
    socket.create_connection((broker.host, broker.port)).close()
    broker.restart()
    socket.create_connection((broker.host, broker.port)).close()
print("served to the end")
"""
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (run.returncode, run.stdout) == (0, "served to the end\n"), run.stderr


def test_a_fork_while_the_broker_starts_and_stops_leaves_it_no_sockets(kafka_broker_factory: Factory) -> None:
    """Forks can happen at any moment: here, in threads while another thread restarts the broker."""
    broker = kafka_broker_factory()
    read, write = os.pipe()
    children: list[int] = []
    done = threading.Event()

    def fork_on() -> None:
        while not done.is_set() and len(children) < 50:
            child = os.fork()
            if child == 0:
                os.close(write)
                os.read(read, 1)
                os._exit(0)
            children.append(child)

    forking = threading.Thread(target=fork_on)
    forking.start()
    try:
        for _ in range(5):
            broker.restart()
    finally:
        done.set()
        forking.join()
        os.close(write)
        for child in children:
            os.waitpid(child, 0)
    with connect(broker) as one:
        assert ask(one) == 7


def test_nodes_of_a_cluster_are_killed_and_started_beside_a_child(kafka_cluster: KafkaCluster) -> None:
    """The controller, too. The child keeps none of their ports open."""
    broker = kafka_cluster.brokers[0]
    with workers(broker, 1) as [pipe]:
        pipe.send("ask")
        assert pipe.recv() == (7, False)
        broker.stop()
        kafka_cluster.controller.stop()
        kafka_cluster.controller.start()
        broker.start()
        pipe.send("ask")
        assert pipe.recv() == (7, False)
