"""One kind of client quota, such as produce bytes: measures its use, and computes throttle times of clients over it.

Pure. Owns: the quotas of the kind and their sensors. Never does: muting, reading a clock. Invariant: each throttle time
is equal to Kafka's for the same events at the same times. Source: ClientQuotaManager, ClientRequestQuotaManager,
ControllerMutationQuotaManager, QuotaUtils.
"""

from math import floor, inf
from typing import NamedTuple

from .entities import UNLIMITED, EntityQuotas, Tags
from .sensors import ANYONE, SensorOwner, Sensors
from .windows import Average, Rate


class TokenBucket:
    """Tokens that refill at the rate of the quota, up to the amount of all windows together."""

    __slots__ = ("_capacity_s", "_tokens", "_updated_ms")

    def __init__(self, samples: int, window_ms: int) -> None:
        """The capacity is the quota times ``samples`` windows of ``window_ms``. The bucket is full at first."""
        self._capacity_s = samples * window_ms / 1000
        self._tokens = inf
        self._updated_ms = 0

    def tokens(self, quota: float, now_ms: int) -> float:
        """The tokens left; negative if more were taken. ``quota``: the current rate in tokens a second."""
        gained = quota * ((now_ms - self._updated_ms) / 1000)
        self._tokens = min(quota * self._capacity_s, self._tokens + gained)
        self._updated_ms = now_ms
        return self._tokens

    def take(self, count: float, quota: float, now_ms: int) -> None:
        """Takes ``count`` tokens, even if there are fewer."""
        self._tokens = min(quota * self._capacity_s, self.tokens(quota, now_ms) - count)

    def is_full(self, quota: float, now_ms: int) -> bool:
        """Whether the bucket is full, as a new one is."""
        return self.tokens(quota, now_ms) >= quota * self._capacity_s


MAX_THROTTLE_MS = 2**31 - 1
"""The longest throttle time, as ``throttle_time_ms`` is an int32."""


class QuotaWindows(NamedTuple):
    """The windows over which a rate is measured: ``quota.window.num`` samples of ``quota.window.size.seconds``, or
    ``controller.quota.window.num`` samples of ``controller.quota.window.size.seconds``."""

    samples: int
    window_ms: int


def throttle_time_ms(rate: float, limit: float, window_ms: int) -> int:
    """The time in ms until ``rate`` falls to ``limit`` if nothing more is recorded (``QuotaUtils.throttleTime``)."""
    return min(floor((rate - limit) / limit * window_ms + 0.5), MAX_THROTTLE_MS)


class QuotaSensor:
    """Measures how much of one quota a user and client id have used."""

    __slots__ = ("_throttled", "bucket", "generation", "limit", "rate", "used_ms")

    def __init__(self, windows: QuotaWindows, has_bucket: bool = False) -> None:
        """``has_bucket``: throttling depends on a token bucket instead of the rate."""
        self.rate = Rate(*windows)
        self.bucket = TokenBucket(*windows) if has_bucket else None
        self.limit = UNLIMITED
        self.generation = -1
        self.used_ms = 0
        self._throttled: Average | None = None

    def is_as_new(self, now_ms: int) -> bool:
        """Whether a new sensor would give the same throttle times, so that this one can be removed."""
        if self.bucket is not None and not self.bucket.is_full(self.limit, now_ms):
            return False
        return self.rate.has_expired(now_ms)

    def throttled(self, throttle_ms: int, now_ms: int) -> None:
        """Records a throttle time in ms, for :meth:`average_throttle_ms`."""
        if self._throttled is None:
            self._throttled = Average()
        self._throttled.record(throttle_ms, now_ms)

    def average_throttle_ms(self, now_ms: int) -> float | None:
        """The average of the recent throttle times in ms; None without any."""
        return None if self._throttled is None else self._throttled.value(now_ms)


class ClientQuota:
    """The quotas of one kind on a rate: bytes a second, or per cent of a second for each second."""

    def __init__(self, windows: QuotaWindows, max_throttle_ms: int = MAX_THROTTLE_MS) -> None:
        """``max_throttle_ms``: the longest throttle time that is returned."""
        self.windows = windows
        self.entities = EntityQuotas()
        self.sensors = Sensors(self._new_sensor)
        self._max_throttle_ms = max_throttle_ms

    def _new_sensor(self) -> QuotaSensor:
        return QuotaSensor(self.windows)

    @property
    def is_enabled(self) -> bool:
        """Whether any quota of this kind is set. If none is, nothing is measured."""
        return self.entities.levels != 0

    def sensor(self, user: str, client_id: str, now_ms: int, owner: SensorOwner = ANYONE) -> QuotaSensor:
        """The sensor for a request's user and client id, with its current limit set. ``owner``: who sent it."""
        tags: Tags = self.entities.tags(user, client_id)
        sensor = self.sensors.use(tags, now_ms, owner)
        if sensor.generation != self.entities.generation or sensor is self.sensors.shared:
            sensor.limit = self.entities.limit(tags)
            sensor.generation = self.entities.generation
        return sensor

    def throttle_ms(self, sensor: QuotaSensor, value: float, now_ms: int) -> int:
        """Records ``value``. Returns the throttle time in ms; 0 if the rate is within the quota."""
        sensor.rate.record(value, now_ms)
        rate = sensor.rate.rate(now_ms)
        if not rate > sensor.limit:  # the limit may be NaN
            return 0
        return min(throttle_time_ms(rate, sensor.limit, sensor.rate.window_ms(now_ms)), self._max_throttle_ms)

    def most_in_window(self, sensor: QuotaSensor) -> float:
        """The largest value that may be recorded at once within the quota if nothing else was recorded."""
        return (
            inf
            if sensor.limit == UNLIMITED
            else sensor.limit * (self.windows.samples - 1) * (self.windows.window_ms / 1000)
        )


class MutationQuota(ClientQuota):
    """The quotas on created and deleted partitions a second, ``controller_mutation_rate`` (KIP-599)."""

    def _new_sensor(self) -> QuotaSensor:
        return QuotaSensor(self.windows, has_bucket=True)

    def throttle_ms(self, sensor: QuotaSensor, value: float, now_ms: int) -> int:
        """Takes ``value`` tokens, even if there are fewer. Returns the throttle time in ms."""
        self.take(sensor, value, now_ms)
        return self.missing_ms(sensor, now_ms)

    def take(self, sensor: QuotaSensor, value: float, now_ms: int) -> None:
        """Takes ``value`` tokens, even if there are fewer."""
        sensor.rate.record(value, now_ms)
        if sensor.bucket is not None:
            sensor.bucket.take(value, sensor.limit, now_ms)

    def missing_ms(self, sensor: QuotaSensor, now_ms: int) -> int:
        """The time in ms until the number of tokens is 0 again; 0 if it is not negative."""
        if sensor.bucket is None:
            return 0
        tokens = sensor.bucket.tokens(sensor.limit, now_ms)
        return min(floor(-tokens / sensor.limit * 1000 + 0.5), MAX_THROTTLE_MS) if tokens < 0 else 0
