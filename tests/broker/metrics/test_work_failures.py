"""The counters of failed work and of warnings, in a broker."""

import logging
import socket

import pytest

from odradek.broker.groups import progress_watch
from odradek.broker.metrics.process_metrics import WarningMetrics
from odradek.broker.network.listening import BindError
from odradek.broker.timers.work import KindOfWork
from odradek.testing import InProcessBroker
from support.brokers.free_ports import free_port

from .metric_samples import samples_of

COUNTED = KindOfWork("counted-work", "fails in this test")
NAME = "odradek_work_failures_total"


@pytest.mark.kafka(configs={"odradek.metrics.listener": "127.0.0.1:0"})
def test_failures_are_counted_by_kind(kafka: InProcessBroker) -> None:
    def fail() -> None:
        raise KeyError("a bug")

    before = samples_of(kafka)
    assert before[NAME, "counted-work"] == 0
    COUNTED.call(fail)
    COUNTED.call(fail)
    after = samples_of(kafka)
    assert after[NAME, "counted-work"] == 2
    assert after[NAME, "timers"] == before[NAME, "timers"]


@pytest.mark.kafka(configs={"odradek.metrics.listener": "127.0.0.1:0"})
def test_warnings_of_the_log_are_counted_by_module(kafka: InProcessBroker) -> None:
    watch = logging.getLogger(progress_watch.__name__)
    labels = ("odradek_log_warnings_total", "warning", "broker.groups.progress_watch")
    for count in (1, 2):
        watch.warning("group %r stands", "orders")
        watch.info("group %r has got on", "orders")
        assert samples_of(kafka)[labels] == count
    kafka.stop()
    assert counting() == []


def counting() -> list[logging.Handler]:
    """The handlers that count the warnings of this process."""
    return [handler for handler in logging.getLogger("odradek").handlers if isinstance(handler, WarningMetrics)]


def test_a_start_that_fails_leaves_no_metrics_behind() -> None:
    """The console's address is taken, after the metrics listen; then the address of the metrics."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        port = free_port()
        for configs in (
            {"odradek.metrics.listener": f"127.0.0.1:{port}", "odradek.console.listener": address},
            {"odradek.metrics.listener": address},
        ):
            with pytest.raises(BindError, match=address):
                InProcessBroker(configs=configs).start()
            assert counting() == []
    with InProcessBroker(configs={"odradek.metrics.listener": f"127.0.0.1:{port}"}):
        assert len(counting()) == 1
    assert counting() == []
