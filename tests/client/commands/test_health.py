"""Health is one notion: the command says what ``/ready`` of the metrics says, and a producer names the cause."""

import asyncio
import urllib.error
import urllib.request
from pathlib import Path

import pytest

from odradek.client import Producer
from odradek.client.errors import DeliveryTimeoutError
from odradek.testing.broker.in_process import InProcessBroker
from support.brokers.asking import Asking
from support.brokers.free_ports import free_port

from ..command_shell import Shell


def ready(port: int) -> int:
    """The status of ``/ready``."""
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/ready") as answer:
            return int(answer.status)
    except urllib.error.HTTPError as error:
        return error.code


def test_a_full_disk_is_not_healthy_for_the_command_and_the_endpoint(
    tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    port = free_port()
    with InProcessBroker(tmp_path, {"odradek.metrics.listener": f"127.0.0.1:{port}"}) as kafka:
        shell = Shell(kafka.bootstrap_servers, capfdbinary, tmp_path)
        kafka.create_topic("orders")
        assert shell.out("health").startswith("healthy: cluster ")
        assert ready(port) == 200
        kafka.disk_is_full = True
        assert Asking(kafka.port).produce("orders", 0, b"refused") != 0
        assert ready(port) == 503
        code, _, err = shell.run("health")
        assert code == 1
        assert err.strip().endswith(f"the broker answers, but takes no records: {kafka.log_dir}: the disk is full")
        kafka.disk_is_full = False
        kafka.advance(minutes=1)
        assert ready(port) == 200
        assert shell.out("health").startswith("healthy: cluster ")


async def test_a_producer_names_the_last_answer(tmp_path: Path) -> None:
    def full_broker() -> InProcessBroker:
        kafka = InProcessBroker(tmp_path)
        kafka.start()
        kafka.create_topic("orders")
        kafka.disk_is_full = True
        return kafka

    kafka = await asyncio.to_thread(full_broker)
    try:
        async with Producer(
            kafka.bootstrap_servers, delivery_timeout_ms=1_000, request_timeout_ms=900, linger_ms=0
        ) as producer:
            with pytest.raises(DeliveryTimeoutError, match=r"last: .*KAFKA_STORAGE_ERROR"):
                await producer.send_and_wait("orders", b"refused")
    finally:
        await asyncio.to_thread(kafka.stop)
