"""The delay after failed authentications: Kafka's at first, longer for an address that continues."""

from odradek.broker.security.authentication.failures import (
    FORGET_MS,
    FREE_FAILURES,
    MAX_ADDRESSES,
    MAX_DELAY_MS,
    Failures,
)


def test_the_first_failures_wait_as_in_kafka_and_later_ones_longer() -> None:
    failures = Failures(100)
    delays = [failures.failed("a", number) for number in range(FREE_FAILURES + 8)]
    assert delays[:FREE_FAILURES] == [100] * FREE_FAILURES
    assert delays[FREE_FAILURES:] == [100, 200, 400, 800, 1600, 3200, MAX_DELAY_MS, MAX_DELAY_MS]
    assert failures.failed("b", 0) == 100
    assert failures.failed("a", FORGET_MS * 3) == 100


def test_a_delay_of_zero_delays_floods_only_and_a_long_one_stays() -> None:
    none, long = Failures(0), Failures(8_000)
    assert [none.failed("a", 0) for _ in range(FREE_FAILURES)] == [0] * FREE_FAILURES
    assert none.failed("a", 0) == 1
    assert [long.failed("a", 0) for _ in range(50)] == [8_000] * 50


def test_addresses_are_bounded() -> None:
    failures = Failures(100)
    for number in range(MAX_ADDRESSES + 5):
        failures.failed(str(number), 0)
    assert failures.count("0") == 0
    assert failures.count(str(MAX_ADDRESSES)) == 1
