"""The delay of the event loop: with a loop of the test, and in a broker."""

import asyncio
from collections.abc import Callable
from typing import Any, cast

import pytest
from prometheus_client import generate_latest

from odradek.broker.metrics.pieces import encoded
from odradek.broker.metrics.process_metrics import LIMITS_S, PERIOD_S, LoopDelay
from odradek.testing import InProcessBroker

from .metric_samples import Samples, samples_in, samples_of

NAME = "odradek_event_loop_delay_seconds"


class LateLoop:
    """A loop whose timers fire when the test says so."""

    def __init__(self) -> None:
        self.now_s = 50.0
        self.due: list[tuple[float, Callable[[], None]]] = []

    def time(self) -> float:
        return self.now_s

    def call_at(self, due_s: float, callback: Callable[..., None], *arguments: Any) -> Any:
        self.due.append((due_s, lambda: callback(*arguments)))
        return self

    def cancel(self) -> None:
        self.due.clear()

    def fire(self, late_s: float) -> None:
        ((due_s, callback),) = self.due
        self.due.clear()
        self.now_s = due_s + late_s
        callback()


def read(delay: LoopDelay) -> Samples:
    return samples_in(b"".join(encoded(delay, generate_latest)).decode())


def test_every_wake_up_is_counted_with_its_lateness() -> None:
    loop, delay = LateLoop(), LoopDelay()
    delay.start(cast(asyncio.AbstractEventLoop, loop))
    assert loop.due[0][0] == 50 + PERIOD_S
    for late_s in (-0.001, 0.001, 0.03, 3.0, 60.0):
        loop.fire(late_s)
    samples = read(delay)
    assert samples[f"{NAME}_count",] == samples[f"{NAME}_bucket", "+Inf"] == 5
    assert samples[f"{NAME}_sum",] == pytest.approx(63.031)
    counts = {limit_s: samples[f"{NAME}_bucket", str(limit_s)] for limit_s in LIMITS_S}
    assert [counts[limit_s] for limit_s in (0.002, 0.02, 0.05, 2.0, 5.0, 10.0)] == [2, 2, 3, 3, 4, 4]
    delay.stop()
    assert not loop.due


@pytest.mark.kafka(configs={"odradek.metrics.listener": "127.0.0.1:0"})
def test_a_broker_measures_its_own(kafka: InProcessBroker) -> None:
    kafka.wait_until(lambda: samples_of(kafka)[f"{NAME}_count",] >= 2)
