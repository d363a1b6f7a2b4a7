"""One kind of client quota: what was used, and how long the connection of a client over it is muted.

Pure. Owns: the quotas of the kind with their sensors. Never does: muting, reading a clock. Invariant: with the same
events at the same times, each throttle time is that of Kafka. Source: ClientQuotaManager, ClientRequestQuotaManager,
ControllerMutationQuotaManager, QuotaUtils.
"""

from math import floor, inf
from typing import NamedTuple

from .entities import UNLIMITED, EntityQuotas, Tags
from .sensors import Sensors
from .token_bucket import TokenBucket
from .windows import Average, Rate

MAX_THROTTLE_MS = 2**31 - 1
"""The field of the answer is an int32."""


class QuotaWindows(NamedTuple):
    """Over what rates are measured: ``quota.window.num`` samples of ``quota.window.size.seconds``, or the keys of the
    controller's quota."""

    samples: int
    window_ms: int


def throttle_time_ms(rate: float, limit: float, window_ms: int) -> int:
    """The time after which a rate is back at its limit, if nothing more is recorded (``QuotaUtils.throttleTime``)."""
    return min(floor((rate - limit) / limit * window_ms + 0.5), MAX_THROTTLE_MS)


class QuotaSensor:
    """What one user and client id has used of one quota."""

    __slots__ = ("_throttled", "bucket", "generation", "limit", "rate", "used_ms")

    def __init__(self, windows: QuotaWindows, has_bucket: bool = False) -> None:
        """``has_bucket``: a token bucket decides, and not the rate."""
        self.rate = Rate(*windows)
        self.bucket = TokenBucket(*windows) if has_bucket else None
        self.limit = UNLIMITED
        self.generation = -1
        self.used_ms = 0
        self._throttled: Average | None = None

    def is_as_new(self, now_ms: int) -> bool:
        """See :class:`Sensor`."""
        if self.bucket is not None and not self.bucket.is_full(self.limit, now_ms):
            return False
        return self.rate.has_expired(now_ms)

    def throttled(self, throttle_ms: int, now_ms: int) -> None:
        """Notes how long a connection is muted, for :meth:`average_throttle_ms`."""
        if self._throttled is None:
            self._throttled = Average()
        self._throttled.record(throttle_ms, now_ms)

    def average_throttle_ms(self, now_ms: int) -> float | None:
        """The average of the last throttle times; None without one."""
        return None if self._throttled is None else self._throttled.value(now_ms)


class ClientQuota:
    """A quota on a rate: bytes a second, or per cent of a second."""

    def __init__(self, windows: QuotaWindows, max_throttle_ms: int = MAX_THROTTLE_MS) -> None:
        """``max_throttle_ms``: the longest throttle time."""
        self.windows = windows
        self.entities = EntityQuotas()
        self.sensors = Sensors(self._new_sensor)
        self._max_throttle_ms = max_throttle_ms

    def _new_sensor(self) -> QuotaSensor:
        return QuotaSensor(self.windows)

    @property
    def is_enabled(self) -> bool:
        """Whether there is any quota of this kind. Nothing is measured without one."""
        return self.entities.levels != 0

    def sensor(self, user: str, client_id: str, now_ms: int) -> QuotaSensor:
        """The sensor of a request, with its present limit."""
        tags: Tags = self.entities.tags(user, client_id)
        sensor = self.sensors.use(tags, now_ms)
        if sensor.generation != self.entities.generation or sensor is self.sensors.shared:
            sensor.limit = self.entities.limit(tags)
            sensor.generation = self.entities.generation
        return sensor

    def throttle_ms(self, sensor: QuotaSensor, value: float, now_ms: int) -> int:
        """Records ``value``, and returns how long to mute the connection; 0 if the rate is within the quota."""
        sensor.rate.record(value, now_ms)
        rate = sensor.rate.rate(now_ms)
        if not rate > sensor.limit:  # the limit may be NaN
            return 0
        return min(throttle_time_ms(rate, sensor.limit, sensor.rate.window_ms(now_ms)), self._max_throttle_ms)

    def most_in_window(self, sensor: QuotaSensor) -> float:
        """The largest value that is within the quota if nothing else was recorded."""
        return (
            inf
            if sensor.limit == UNLIMITED
            else sensor.limit * (self.windows.samples - 1) * (self.windows.window_ms / 1000)
        )


class MutationQuota(ClientQuota):
    """The quota on partitions that are created or deleted (KIP-599)."""

    def _new_sensor(self) -> QuotaSensor:
        return QuotaSensor(self.windows, has_bucket=True)

    def throttle_ms(self, sensor: QuotaSensor, value: float, now_ms: int) -> int:
        """Takes ``value`` tokens, also more than there are. Returns how long to mute the connection."""
        self.take(sensor, value, now_ms)
        return self.missing_ms(sensor, now_ms)

    def take(self, sensor: QuotaSensor, value: float, now_ms: int) -> None:
        """Takes tokens, also more than there are."""
        sensor.rate.record(value, now_ms)
        if sensor.bucket is not None:
            sensor.bucket.take(value, sensor.limit, now_ms)

    def missing_ms(self, sensor: QuotaSensor, now_ms: int) -> int:
        """The time until the tokens are no longer negative; 0 if they are not."""
        if sensor.bucket is None:
            return 0
        tokens = sensor.bucket.tokens(sensor.limit, now_ms)
        return min(floor(-tokens / sensor.limit * 1000 + 0.5), MAX_THROTTLE_MS) if tokens < 0 else 0
