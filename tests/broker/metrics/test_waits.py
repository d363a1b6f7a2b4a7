"""The waits of requests in virtual time: each request counts once, and no bucket ever shrinks."""

import random

import pytest

from odradek.broker.metrics.request_meters import ApiMeter, cumulative
from odradek.broker.metrics.waits import AT_ONCE_NS, Waits

MS = 1_000_000


@pytest.mark.parametrize("seed", range(20))
def test_each_request_counts_once_and_no_bucket_shrinks(seed: int) -> None:
    generator = random.Random(seed)
    waits, requests, dropped, now_ns = Waits(), 0, 0, 0
    waiting: list[int] = []
    waited: list[int] = []
    before: list[int] = []
    for _ in range(500):
        now_ns += generator.choice([1, AT_ONCE_NS - 1, AT_ONCE_NS, 3 * MS, 40_000 * MS]) * generator.randint(0, 2)
        event = generator.randrange(5)
        if event == 0:
            requests += 1
        elif event == 1:
            requests += 1
            waits.begin()
            waiting.append(now_ns)
        elif event == 2:
            requests += 1
            ns = generator.randint(0, 3) * AT_ONCE_NS // 2
            waits.note(ns)
            waited.append(ns)
        elif event == 3 and waiting:
            since_ns = waiting.pop(generator.randrange(len(waiting)))
            waits.end(now_ns - since_ns)
            waited.append(now_ns - since_ns)
        elif event == 4 and waiting and generator.random() < 0.2:
            waiting.pop()
            dropped += 1
        times = waits.among(requests)
        assert times.count == requests - len(waiting) - dropped
        late = [one for one in waited if one >= AT_ONCE_NS]
        assert times.ns == sum(late)
        buckets = [count for _, count in cumulative(times.buckets)]
        assert all(now >= then for now, then in zip(buckets, before, strict=False)), (before, buckets)
        assert buckets[0] == times.count - len(late)
        before = buckets


def test_requests_that_do_not_wait_count_as_0() -> None:
    meter = ApiMeter("Heartbeat")
    meter.version(4).requests += 7
    meter.version(3).requests += 3
    for _ in range(8):
        meter.served.note(5_000)
    for times, count in (
        (meter.request_queue, 10),
        (meter.response_queue, 8),
        (meter.response_send, 8),
        (meter.throttle, 8),
    ):
        assert (times.buckets[0], times.count, times.ns) == (count, count, 0)
    meter.queue_waits.note(3 * MS)
    meter.send_waits.begin()
    assert (meter.request_queue.buckets[0], meter.request_queue.count, meter.request_queue.ns) == (9, 10, 3 * MS)
    assert (meter.response_send.count, meter.response_send.ns) == (7, 0)
    meter.send_waits.end(4 * MS)
    assert (meter.response_send.count, meter.response_send.ns) == (8, 4 * MS)
