"""The sensors of one kind of quota, one for each user and client id, in bounded memory.

Pure. Owns: the sensors, in the order of their last use. Never does: computing throttle times, reading a clock.
Invariants: there are at most ``most`` sensors; as in Kafka, a sensor may be removed after an hour without use. If there
are ``most`` sensors, a new one replaces an old one only if that has nothing recorded any more. Otherwise further names
share one sensor, so a client can't escape its quota by sending many names. Source: ClientQuotaManager, SensorAccess.
"""

from collections.abc import Callable, Iterator
from hashlib import sha256
from typing import Generic, Protocol, TypeVar

from .entities import Tags

EXPIRY_MS = 3_600_000
"""The time after which an unused sensor expires (``ClientQuotaManager.INACTIVE_SENSOR_EXPIRATION_TIME_SECONDS``)."""
MAX_SENSORS = 10_000
"""The most sensors of each kind of quota. They take at most 15 MB."""
NAME_CHARACTERS = 256
"""The longest name that is kept as it is. For a longer one (a client id has up to 32,767 characters), the sensor keeps
the beginning and a hash.
"""


class Sensor(Protocol):
    """Measures what one user and client id have used."""

    used_ms: int

    def is_as_new(self, now_ms: int) -> bool:
        """Whether a new sensor would give the same throttle times, so that this one can be removed."""


SensorType = TypeVar("SensorType", bound=Sensor)


class Sensors(Generic[SensorType]):
    """The sensors of one kind of quota."""

    def __init__(self, new: Callable[[], SensorType], most: int = MAX_SENSORS) -> None:
        """``new`` makes a sensor."""
        self._new = new
        self._most = most
        self._sensors: dict[Tags, SensorType] = {}
        """Ordered by last use; the most recently used sensor is last."""
        self.shared = new()
        """The sensor that names share for which there was no room."""
        self.is_shared = False
        """Whether :attr:`shared` was ever used."""

    def __len__(self) -> int:
        return len(self._sensors)

    def items(self) -> Iterator[tuple[Tags, SensorType]]:
        """The current sensors with their tags. Long names in the tags are shortened."""
        return iter(list(self._sensors.items()))

    def newest(self) -> Iterator[tuple[Tags, SensorType]]:
        """As :meth:`items`, but the most recently used sensor is first."""
        return iter(list(reversed(self._sensors.items())))

    def use(self, tags: Tags, now_ms: int) -> SensorType:
        """Returns the sensor of these tags, creating it if needed, and records that it was used now."""
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
        """Makes room: of the two least recently used sensors, removes expired ones, and at the limit ones as new."""
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
