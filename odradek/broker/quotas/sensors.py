"""The sensors of one kind of quota, one for each user and client id, in bounded memory.

Pure. Owns: the sensors, in the order of their last use, and whose they are. Never does: computing throttle times,
reading a clock. Invariants: there are at most ``most`` sensors; as in Kafka, a sensor may be removed after an hour
without use. If there are ``most`` sensors, a new one replaces an old one that has nothing recorded any more.
Otherwise a user's takes the place of one whose client has not logged in, or of one of the owner with the most of
them, until all owners have as many. Beyond its share, the names of one owner share one sensor: so a client can't
escape its quota by sending many names, and no other pays. Source: ClientQuotaManager, SensorAccess; the shares are
ours.
"""

from collections.abc import Callable, Iterator
from hashlib import sha256
from typing import Generic, NamedTuple, Protocol, TypeVar

from .entities import Tags

EXPIRY_MS = 3_600_000
"""The time after which an unused sensor expires (``ClientQuotaManager.INACTIVE_SENSOR_EXPIRATION_TIME_SECONDS``)."""
MAX_SENSORS = 10_000
"""The most sensors of each kind of quota. They take at most 15 MB."""
NAME_CHARACTERS = 256
"""The longest name that is kept as it is. For a longer one (a client id has up to 32,767 characters), the sensor keeps
the beginning and a hash.
"""


MAX_OWNERS = 1_000
"""The most owners with a shared sensor. Further ones have one together."""
LOOK_MS = 100
"""The interval of searches for the owner with the most sensors, which take 1 ms at most."""


class SensorOwner(NamedTuple):
    """Who sends the names. ``name``: a user, or the network of a client that has not logged in."""

    name: str
    has_logged_in: bool = False


ANYONE = SensorOwner("")


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
        self._owner_of: dict[Tags, SensorOwner] = {}
        self._owned: dict[SensorOwner, dict[Tags, None]] = {}
        """Owner -> the tags of its sensors, ordered by last use."""
        self._strange: dict[Tags, None] = {}
        """The tags of clients that have not logged in, ordered by last use."""
        self._largest: SensorOwner | None = None
        """The owner with the most sensors when that was looked for."""
        self._looked_ms = -LOOK_MS
        self._shared: dict[SensorOwner, SensorType] = {}
        """The sensor that the names of an owner share for which there was no room."""
        self.shared = new()
        """The shared sensor that was used last."""
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

    def use(self, tags: Tags, now_ms: int, owner: SensorOwner = ANYONE) -> SensorType:
        """Returns the sensor of these tags, creating it if needed, and records that it was used now.

        ``owner``: who sends the tags; a new sensor belongs to it.
        """
        if len(tags[0]) > NAME_CHARACTERS or len(tags[1]) > NAME_CHARACTERS:
            tags = _shortened(tags[0]), _shortened(tags[1])
        sensors = self._sensors
        sensor = sensors.pop(tags, None)
        if sensor is None:
            self._remove_oldest(now_ms)
            if len(sensors) >= self._most and not self._make_room(owner, now_ms):
                return self._shared_of(owner, now_ms)
            sensor = self._new()
        else:
            owner = self._disown(tags)
        sensors[tags] = sensor
        self._owner_of[tags] = owner
        self._owned.setdefault(owner, {})[tags] = None
        if not owner.has_logged_in:
            self._strange[tags] = None
        sensor.used_ms = now_ms
        return sensor

    def _disown(self, tags: Tags) -> SensorOwner:
        owner = self._owner_of.pop(tags)
        owned = self._owned[owner]
        del owned[tags]
        if not owned:
            del self._owned[owner]
        self._strange.pop(tags, None)
        return owner

    def _remove(self, tags: Tags) -> None:
        del self._sensors[tags]
        self._disown(tags)

    def _remove_oldest(self, now_ms: int) -> None:
        """Makes room: of the two least recently used sensors, removes expired ones, and at the limit ones as new."""
        for tags in list(_first(self._sensors, 2)):
            oldest = self._sensors[tags]
            is_full = len(self._sensors) >= self._most
            if now_ms - oldest.used_ms > EXPIRY_MS or (is_full and oldest.is_as_new(now_ms)):
                self._remove(tags)

    def _make_room(self, owner: SensorOwner, now_ms: int) -> bool:
        """Removes the least recently used sensor of those that have less right to it than a new one of ``owner``."""
        if owner.has_logged_in and self._strange:
            self._remove(next(iter(self._strange)))
            return True
        own = len(self._owned.get(owner, ()))
        largest = self._largest
        if largest is None or len(self._owned.get(largest, ())) <= own + 1:
            if now_ms - self._looked_ms < LOOK_MS:
                return False
            self._looked_ms = now_ms
            self._largest = largest = max(self._owned, key=lambda other: len(self._owned[other]))
            if len(self._owned[largest]) <= own + 1:
                return False
        if largest.has_logged_in and not owner.has_logged_in:
            return False
        self._remove(next(iter(self._owned[largest])))
        return True

    def _shared_of(self, owner: SensorOwner, now_ms: int) -> SensorType:
        """The sensor that the names of an owner share."""
        sensor = self._shared.pop(owner, None)
        if sensor is None:
            for other in list(self._shared)[:2]:
                if self._shared[other].is_as_new(now_ms):
                    del self._shared[other]
            if len(self._shared) >= MAX_OWNERS:
                owner = ANYONE
                sensor = self._shared.pop(owner, None)
            sensor = sensor or self._new()
        self._shared[owner] = self.shared = sensor
        self.is_shared = True
        return sensor


def _first(sensors: dict[Tags, SensorType], count: int) -> Iterator[Tags]:
    return (tags for _, tags in zip(range(count), sensors, strict=False))


def _shortened(name: str) -> str:
    if len(name) <= NAME_CHARACTERS:
        return name
    digest = sha256(name.encode(errors="surrogatepass")).hexdigest()[:32]
    return f"{name[: NAME_CHARACTERS - len(digest) - 3]}...{digest}"
