"""The counters of failed work and of warnings, in a broker."""

import logging

import pytest

from odradek.broker.groups import progress_watch
from odradek.broker.metrics.process_metrics import WarningMetrics
from odradek.broker.timers.work import KindOfWork
from odradek.testing import InProcessBroker

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
    assert not any(isinstance(handler, WarningMetrics) for handler in logging.getLogger("odradek").handlers)
