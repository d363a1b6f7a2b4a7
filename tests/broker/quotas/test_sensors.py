"""The sensors of a quota are bounded, and new names do not evade a quota."""

import pytest

from odradek.broker.quotas.client_quota import ClientQuota, QuotaSensor, QuotaWindows
from odradek.broker.quotas.entities import UNLIMITED, EntityQuotas
from odradek.broker.quotas.sensors import EXPIRY_MS, NAME_CHARACTERS, Sensors

WINDOWS = QuotaWindows(11, 1_000)
MOST = 3


@pytest.fixture
def sensors() -> Sensors[QuotaSensor]:
    return Sensors(lambda: QuotaSensor(WINDOWS), MOST)


def test_names_that_find_no_room_share_one_sensor(sensors: Sensors[QuotaSensor]) -> None:
    for number in range(MOST):
        sensors.use(("", str(number)), 0).rate.record(1, 0)
    assert sensors.use(("", "one more"), 1) is sensors.shared
    assert sensors.use(("", "another"), 1) is sensors.shared
    assert len(sensors) == MOST


def test_a_sensor_in_which_nothing_counts_any_more_makes_room(sensors: Sensors[QuotaSensor]) -> None:
    for number in range(MOST):
        sensors.use(("", str(number)), 0).rate.record(1, 0)
    sensors.use(("", "0"), 5_000).rate.record(1, 5_000)
    assert sensors.use(("", "new"), 11_000) is not sensors.shared
    assert {tags[1] for tags, _ in sensors.items()} == {"0", "2", "new"}


def test_sensors_expire_after_an_hour(sensors: Sensors[QuotaSensor]) -> None:
    sensors.use(("", "old"), 0)
    sensors.use(("", "new"), EXPIRY_MS + 1)
    assert [tags for tags, _ in sensors.items()] == [("", "new")]


def test_long_names_are_kept_short_and_apart(sensors: Sensors[QuotaSensor]) -> None:
    first, second = (sensors.use(("", "x" * 30_000 + end), 0) for end in "ab")
    assert first is not second
    assert first is sensors.use(("", "x" * 30_000 + "a"), 0)
    assert all(len(name) <= NAME_CHARACTERS for (_, name), _ in sensors.items())


def test_a_client_over_its_quota_stays_over_it_among_many_names() -> None:
    quota = ClientQuota(WINDOWS)
    quota.sensors = Sensors(lambda: QuotaSensor(WINDOWS), MOST)
    quota.entities.set([("client-id", None)], 1.0)
    throttled = [quota.throttle_ms(quota.sensor("", f"name {n}", 0), 5, 0) for n in range(20)]
    assert throttled[:MOST] == [0] * MOST
    assert all(throttled[MOST + 3 :])


def test_the_most_specific_entity_decides() -> None:
    quotas = EntityQuotas()
    quotas.set([("user", None)], 1)
    assert quotas.tags("alice", "c") == ("alice", "")
    quotas.set([("user", "alice"), ("client-id", None)], 2)
    assert quotas.limit(quotas.tags("alice", "c")) == 2
    assert quotas.limit(quotas.tags("bob", "c")) == 1
    quotas.set([("user", None)], None)
    assert quotas.limit(quotas.tags("bob", "c")) == UNLIMITED


def test_a_quota_that_is_not_a_number_throttles_no_client() -> None:
    quota = ClientQuota(WINDOWS)
    quota.entities.set([("client-id", "c")], float("nan"))
    assert quota.throttle_ms(quota.sensor("", "c", 0), 10**9, 0) == 0
