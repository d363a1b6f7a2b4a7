"""The sensors of one quota: what each user and client id has used, in bounded memory.

Pure. Owns: the sensors, and the order in which they were used. Never does: judging, reading a clock. Invariants: there
are at most ``most`` sensors; a sensor is removed after an hour without use, as in Kafka; at the limit, one that counts
as new is replaced, and if there is none, further names share one sensor, so that a client can't escape its quota by
sending many names. Source: ClientQuotaManager, SensorAccess.
"""

from collections.abc import Callable, Iterator
from hashlib import sha256
from typing import Generic, Protocol, TypeVar

from .entities import Tags

EXPIRY_MS = 3_600_000
"""``ClientQuotaManager.INACTIVE_SENSOR_EXPIRATION_TIME_SECONDS``."""
MAX_SENSORS = 10_000
"""For each kind of quota: 15 MB at most."""
NAME_CHARACTERS = 256
"""A client id has up to 32,767 characters. Of a longer name, the sensor keeps the beginning and a hash."""


class Sensor(Protocol):
    """What one user or client id has used."""

    used_ms: int

    def is_as_new(self, now_ms: int) -> bool:
        """Whether a new sensor would judge in the same way."""


SensorType = TypeVar("SensorType", bound=Sensor)


class Sensors(Generic[SensorType]):
    """The sensors of one kind of quota."""

    def __init__(self, new: Callable[[], SensorType], most: int = MAX_SENSORS) -> None:
        """``new`` makes a sensor."""
        self._new = new
        self._most = most
        self._sensors: dict[Tags, SensorType] = {}
        """The one that was used last is last."""
        self.shared = new()
        """For names that find no room."""
        self.is_shared = False
        """Whether any name has found no room."""

    def __len__(self) -> int:
        return len(self._sensors)

    def items(self) -> Iterator[tuple[Tags, SensorType]]:
        """The sensors of now with their names, which may be shortened."""
        return iter(list(self._sensors.items()))

    def newest(self) -> Iterator[tuple[Tags, SensorType]]:
        """As :meth:`items`, the sensor that was used last first."""
        return iter(list(reversed(self._sensors.items())))

    def use(self, tags: Tags, now_ms: int) -> SensorType:
        """The sensor of these tags, and notes that it is used."""
        if len(tags[0]) > NAME_CHARACTERS or len(tags[1]) > NAME_CHARACTERS:
            tags = _shortened(tags[0]), _shortened(tags[1])
        sensors = self._sensors
        sensor = sensors.pop(tags, None)
        if sensor is None:
            self._remove_oldest(now_ms)
            if len(sensors) >= self._most:
                self.is_shared = True
                return self.shared
            sensor = self._new()
        sensors[tags] = sensor
        sensor.used_ms = now_ms
        return sensor

    def _remove_oldest(self, now_ms: int) -> None:
        """Makes room: removes two that have expired at most, and one that counts as new if the limit is reached."""
        for tags in list(_first(self._sensors, 2)):
            oldest = self._sensors[tags]
            is_full = len(self._sensors) >= self._most
            if now_ms - oldest.used_ms > EXPIRY_MS or (is_full and oldest.is_as_new(now_ms)):
                del self._sensors[tags]


def _first(sensors: dict[Tags, SensorType], count: int) -> Iterator[Tags]:
    return (tags for _, tags in zip(range(count), sensors, strict=False))


def _shortened(name: str) -> str:
    if len(name) <= NAME_CHARACTERS:
        return name
    digest = sha256(name.encode(errors="surrogatepass")).hexdigest()[:32]
    return f"{name[: NAME_CHARACTERS - len(digest) - 3]}...{digest}"
