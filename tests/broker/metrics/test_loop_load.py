"""The share of time in which the event loop is idle: with clocks of the test, and in a broker."""

import asyncio
from collections.abc import Callable
from typing import Any, cast

import pytest
from prometheus_client import generate_latest

from odradek.broker.metrics.pieces import encoded
from odradek.broker.metrics.process_metrics import LOAD_PERIOD_S, NAMES, WINDOW_S, LoopLoad
from odradek.testing import InProcessBroker

from .metric_samples import samples_in, samples_of


class SteppedLoop:
    """A loop whose timer fires when the test says so, with the clocks of its thread."""

    def __init__(self) -> None:
        self.now_s = 100.0
        self.busy_s = 7.0
        self._next: Callable[[], None] | None = None

    def call_later(self, delay_s: float, callback: Callable[..., None], *arguments: Any) -> Any:
        assert delay_s == LOAD_PERIOD_S
        self._next = lambda: callback(*arguments)
        return self

    def cancel(self) -> None:
        self._next = None

    def run(self, seconds: int, busy: float) -> None:
        """Lets time pass, of which the thread runs for the share ``busy``."""
        for _ in range(seconds):
            self.now_s += LOAD_PERIOD_S
            self.busy_s += LOAD_PERIOD_S * busy
            assert self._next is not None
            self._next()


def test_the_idle_share_is_that_of_the_last_minute() -> None:
    loop = SteppedLoop()
    load = LoopLoad(lambda: loop.now_s, lambda: loop.busy_s)
    load.start(cast(asyncio.AbstractEventLoop, loop))
    assert load.idle() == 1, "no time has passed"
    loop.run(10, busy=0.25)
    assert load.idle() == pytest.approx(0.75)
    loop.run(int(WINDOW_S / 2), busy=1.0)
    assert load.idle() == pytest.approx(1 - (2.5 + 30) / 40)
    loop.run(int(WINDOW_S), busy=0.5)
    assert load.idle() == pytest.approx(0.5)
    samples = samples_in(b"".join(encoded(load, generate_latest)).decode())
    assert [samples[name,] for name in NAMES] == pytest.approx([0.5, 0.5])
    load.stop()
    with pytest.raises(AssertionError):
        loop.run(1, busy=0)


@pytest.mark.kafka(configs={"odradek.metrics.listener": "127.0.0.1:0"})
def test_a_broker_measures_its_own(kafka: InProcessBroker) -> None:
    first = samples_of(kafka)
    assert all(0 < first[name,] < 1 for name in NAMES)
