"""The throttles of replication: the rate equals that of Kafka's class, and configs select the replicas. Seeded."""

import json
import random

import pytest

from odradek.broker.metadata.image.image import MetadataImage, ResourceType
from odradek.broker.replicas.replication_throttle import (
    FOLLOWER_KEYS,
    LEADER_KEYS,
    ReplicationQuota,
    ReplicationThrottle,
    ThrottleKeys,
)
from support.kafka.java import java_class, java_or_skip, run_class

NODE = 1
SEEDS = 300
EVENTS = 60
BOTH = pytest.mark.parametrize("keys", [FOLLOWER_KEYS, LEADER_KEYS], ids=["follower", "leader"])


def history(seed: int) -> dict[str, object]:
    """Bytes and times, in bursts with gaps that may be longer than all windows. None: only reads the rate."""
    chance = random.Random(seed)
    samples, window_ms = chance.choice((1, 2, 11)), chance.choice((100, 1_000))
    now_ms, events = chance.randrange(10**6), []
    for _ in range(EVENTS):
        now_ms += chance.choice((0, 1, window_ms // 3, window_ms, chance.randrange(window_ms * (samples + 2))))
        events.append([now_ms, None if chance.random() < 0.4 else chance.randrange(1 << 20)])
    return {"samples": samples, "windowMs": window_ms, "events": events}


def rates(samples: int, window_ms: int, events: list[tuple[int, int | None]]) -> list[float]:
    quota = ReplicationQuota(samples, window_ms)
    found = []
    for now_ms, size in events:
        if size is None:
            found.append(quota.rate(now_ms))
        else:
            quota.record(size, now_ms)
    return found


@pytest.mark.java
def test_rate_is_that_of_kafkas_simple_rate() -> None:
    java_or_skip()
    histories = [json.loads(json.dumps(history(seed))) for seed in range(SEEDS)]
    questions = "".join(json.dumps(one) + "\n" for one in histories)
    result = run_class(java_class("SimpleRates"), standard_input=questions, timeout_s=600)
    assert result.returncode == 0, result.stderr
    answers = [json.loads(line) for line in result.stdout.splitlines()]
    assert len(answers) == SEEDS
    for seed, (one, theirs) in enumerate(zip(histories, answers, strict=True)):
        ours = rates(one["samples"], one["windowMs"], one["events"])
        assert ours == pytest.approx(theirs, rel=1e-12), f"history({seed})"


def test_rate_falls_as_time_passes() -> None:
    events: list[tuple[int, int | None]] = [(0, 1_000), (0, None), (500, None), (4_000, None), (11_000, None)]
    assert rates(11, 1_000, events) == [1_000, 1_000, 250, 0]


def throttle(
    keys: ThrottleKeys,
    *,
    replicas: str | None = "0:1,3:2",
    own: str | None = None,
    default: str | None = None,
) -> ReplicationThrottle:
    """A throttle after 5,000 bytes of partition 0 at time 0."""
    image = MetadataImage()
    if replicas is not None:
        image.configs[ResourceType.TOPIC, "t"] = {keys.replicas: replicas}
    for name, rate in ((str(NODE), own), ("", default)):
        if rate is not None:
            image.configs[ResourceType.BROKER, name] = {keys.rate: rate}
    throttle = ReplicationThrottle(NODE, lambda: image, ReplicationQuota(11, 1_000), keys)
    throttle.copied("t", 0, 5_000, 0)
    return throttle


@BOTH
def test_partition_out_of_sync_is_left_out_until_the_rate_is_low_enough(keys: ThrottleKeys) -> None:
    throttled = throttle(keys, own="1000")
    left_out = [throttled.leaves_out("t", 0, False, now_ms) for now_ms in (0, 4_999, 5_000)]
    assert left_out == [True, True, False]
    assert not throttled.leaves_out("t", 0, True, 0), "a partition in sync is always fetched"


@BOTH
@pytest.mark.parametrize(
    ("replicas", "left_out"),
    [("0:1", True), ("*", True), ("3:2, 0:1", True), ("0:2", False), ("1:1", False), ("", False), (None, False)],
)
def test_only_named_replicas_are_throttled(keys: ThrottleKeys, replicas: str | None, left_out: bool) -> None:
    assert throttle(keys, replicas=replicas, own="10").leaves_out("t", 0, False, 0) == left_out


@BOTH
def test_other_partitions_share_the_rate_that_is_used_up(keys: ThrottleKeys) -> None:
    throttled = throttle(keys, replicas="*", own="1000")
    assert throttled.leaves_out("t", 7, False, 0)
    assert not throttled.leaves_out("other", 0, False, 0)


@BOTH
@pytest.mark.parametrize(
    ("own", "default", "left_out"),
    [
        (None, None, False),
        ("1000", None, True),
        (None, "1000", True),
        ("9000", "1000", False),
        ("1000", "9000", True),
        ("5000", None, False),
        ("4999", None, True),
    ],
)
def test_rate_of_this_broker_stands_over_that_of_all(
    keys: ThrottleKeys, own: str | None, default: str | None, left_out: bool
) -> None:
    assert throttle(keys, own=own, default=default).leaves_out("t", 0, False, 0) == left_out
