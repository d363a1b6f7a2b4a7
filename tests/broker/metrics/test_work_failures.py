"""The counter of failed work, in a broker."""

import pytest

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
