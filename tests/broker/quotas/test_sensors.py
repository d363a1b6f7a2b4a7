"""The sensors of a quota are bounded, and new names do not evade a quota."""

import pytest

from odradek.broker.quotas.client_quota import ClientQuota, QuotaSensor, QuotaWindows
from odradek.broker.quotas.entities import UNLIMITED, EntityQuotas
from odradek.broker.quotas.sensors import EXPIRY_MS, LOOK_MS, MAX_OWNERS, NAME_CHARACTERS, SensorOwner, Sensors

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


ALICE, BOB = SensorOwner("User:alice", True), SensorOwner("User:bob", True)
STRANGER, OTHER_STRANGER = SensorOwner("10.0.0.1"), SensorOwner("10.0.0.2")
MANY = 100


def filled(owner: SensorOwner) -> Sensors[QuotaSensor]:
    """A full table, all of one owner, each with something recorded."""
    sensors = Sensors(lambda: QuotaSensor(WINDOWS), MANY)
    for number in range(MANY):
        sensors.use(("", f"filling-{number}"), number, owner).rate.record(1, number)
    return sensors


def own_sensors(sensors: Sensors[QuotaSensor], owner: SensorOwner, now_ms: int = 1_000) -> int:
    """The number of new names of an owner that get a sensor of their own."""
    used = [sensors.use(("", f"{owner.name}-{number}"), now_ms, owner) for number in range(MANY)]
    for sensor in used:
        sensor.rate.record(1, now_ms)
    assert len(sensors) <= MANY
    return sum(sensor is not sensors._shared.get(owner) for sensor in used)


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        (ALICE, BOB, MANY // 2),
        (STRANGER, OTHER_STRANGER, MANY // 2),
        (STRANGER, ALICE, MANY),
        (ALICE, STRANGER, 0),
        (ALICE, ALICE, 0),
        (STRANGER, STRANGER, 0),
    ],
)
def test_whoever_fills_the_table_fills_only_a_share(first: SensorOwner, second: SensorOwner, expected: int) -> None:
    assert own_sensors(filled(first), second) == expected


def test_an_owner_beyond_its_share_makes_no_other_owner_pay() -> None:
    sensors = filled(STRANGER)
    for number in range(1_000):
        sensors.use(("", f"more-{number}"), 200, STRANGER).rate.record(10**6, 200)
    of_other = sensors.use(("", "new"), 1_000, OTHER_STRANGER)
    assert of_other is not sensors.shared
    assert of_other.rate.rate(1_000) == 0


def test_the_recently_used_sensors_of_the_largest_owner_stay() -> None:
    sensors = filled(ALICE)
    kept = sensors.use(("", "filling-0"), 500, ALICE)
    own_sensors(sensors, BOB)
    assert sensors.use(("", "filling-0"), 1_001, ALICE) is kept


def test_a_sensor_that_several_use_belongs_to_the_first() -> None:
    sensors = filled(ALICE)
    own_sensors(sensors, BOB, 1_000 + LOOK_MS)
    assert len(sensors._owned[ALICE]) == len(sensors._owned[BOB]) == MANY // 2
    for tags in list(sensors._owned[ALICE]):
        sensors.use(tags, 2_000, BOB)
    assert len(sensors._owned[ALICE]) == MANY // 2


def test_owners_with_a_shared_sensor_are_bounded() -> None:
    sensors = filled(ALICE)
    for number in range(3 * MAX_OWNERS):
        sensors.use(("", f"x{number}"), 1_000, SensorOwner(f"10.1.{number // 250}.{number % 250}")).rate.record(
            1, 1_000
        )
    assert len(sensors._shared) <= MAX_OWNERS + 1
    assert len(sensors) == MANY


def test_removed_sensors_leave_nothing_behind() -> None:
    sensors = filled(STRANGER)
    own_sensors(sensors, ALICE)
    for number in range(MANY):
        sensors.use(("", f"late-{number}"), 2 * EXPIRY_MS, BOB)
    assert sum(map(len, sensors._owned.values())) == len(sensors._owner_of) == len(sensors) == MANY
    assert not sensors._strange
