"""The faults that were added over the admin port, each with a number as its id.

Owns: the numbers. Never does: HTTP. Invariant: a number is never used again for another fault, even after
:meth:`KeptFaults.clear`.
"""

import threading
from collections.abc import Callable
from typing import Any

from ..faults.fault import Hold, RequestFault
from ..faults.faults import Faults
from .values import AdminPortError, Arguments, Json

WHERE = (("topic", str), ("partition", int), ("group", str), ("transactional_id", str), ("client_id", str))
"""The arguments that select the requests a fault applies to, with their types: the same as in :class:`Faults`."""


class KeptFaults:
    """Adds faults to a broker, and finds them by number."""

    def __init__(self, faults: Faults) -> None:
        self._faults = faults
        self._kept: dict[int, RequestFault] = {}
        self._next = 1
        self._turn = threading.Lock()

    def add(self, arguments: Arguments) -> dict[str, Json]:
        """Adds a fault; its argument ``fault`` is one of KINDS. Returns its JSON.

        Raises AdminPortError (400) for an unknown kind or wrong arguments, and for a fault that no request can meet.
        """
        kind = arguments.need("fault", str)
        if kind not in KINDS:
            raise AdminPortError(400, f"fault must be one of {', '.join(sorted(KINDS))}, not {kind!r:.100}")
        try:
            fault = KINDS[kind](self._faults, arguments)
        except ValueError as error:
            raise AdminPortError(400, str(error)) from error
        with self._turn:
            number, self._next = self._next, self._next + 1
            self._kept[number] = fault
        return self._as(number, fault)

    def find(self, number: int) -> RequestFault:
        """The fault with this number. Raises AdminPortError (404) if there is none."""
        fault = self._kept.get(number)
        if fault is None:
            raise AdminPortError(404, f"fault {number} does not exist")
        return fault

    def show(self, number: int) -> dict[str, Json]:
        """A fault as JSON, with the number of requests that it has met. Raises AdminPortError (404)."""
        return self._as(number, self.find(number))

    def show_all(self) -> list[dict[str, Json]]:
        """All faults as JSON, including those that have happened as often as they may."""
        return [self._as(number, fault) for number, fault in list(self._kept.items())]

    def hold(self, number: int) -> Hold:
        """The fault of the kind ``hold`` with this number. Raises AdminPortError: 404, or 400 for another kind."""
        fault = self.find(number)
        if not isinstance(fault, Hold):
            raise AdminPortError(400, f"fault {number} does not hold answers")
        return fault

    def release(self, number: int) -> dict[str, Json]:
        """Sends the answers that a fault holds. Raises AdminPortError as :meth:`hold`."""
        fault = self.hold(number)
        fault.release()
        return self._as(number, fault)

    def remove(self, number: int) -> None:
        """Ends a fault and forgets it. Raises AdminPortError (404)."""
        self.find(number).remove()
        self._kept.pop(number, None)

    def clear(self) -> None:
        """Ends all faults and forgets them."""
        self._faults.clear()
        self._kept.clear()

    @staticmethod
    def _as(number: int, fault: RequestFault) -> dict[str, Json]:
        shown = {"id": number, "description": fault.description, "fired": fault.fired, "is_over": fault.is_over}
        return {**shown, "held": fault.held} if isinstance(fault, Hold) else shown


def _where(arguments: Arguments) -> dict[str, Any]:
    chosen = {name: arguments.get(name, kind) for name, kind in WHERE}
    return {name: value for name, value in chosen.items() if value is not None}


def _times(arguments: Arguments, default: int | None) -> int | None:
    """How many requests meet the fault; None, no limit, if ``times`` is ``"all"``. Raises AdminPortError (400)."""
    times = arguments.get("times", (int, str), default)
    if isinstance(times, str) and times.isdecimal():
        return int(times)
    if isinstance(times, str) and times != "all":
        raise AdminPortError(400, f'times must be an integer or "all", not {times!r:.100}')
    return None if isinstance(times, str) else times


def _fail(faults: Faults, arguments: Arguments) -> RequestFault:
    error = arguments.need("error", (str, int))
    return faults.fail(arguments.names("apis"), error, times=_times(arguments, 1), **_where(arguments))


def _delay(faults: Faults, arguments: Arguments) -> RequestFault:
    seconds = arguments.need("seconds", float)
    return faults.delay(arguments.names("apis"), seconds, times=_times(arguments, None), **_where(arguments))


def _hold(faults: Faults, arguments: Arguments) -> RequestFault:
    served = arguments.get("served", bool, True)
    return faults.hold(arguments.names("apis"), served=served, times=_times(arguments, None), **_where(arguments))


def _disconnect(faults: Faults, arguments: Arguments) -> RequestFault:
    served = arguments.get("served", bool, False)
    return faults.disconnect(arguments.names("apis"), served=served, times=_times(arguments, 1), **_where(arguments))


def _throttle(faults: Faults, arguments: Arguments) -> RequestFault:
    ms = arguments.need("throttle_time_ms", int)
    return faults.throttle(arguments.names("apis"), ms, times=_times(arguments, None), **_where(arguments))


def _move_coordinator(faults: Faults, arguments: Arguments) -> RequestFault:
    return faults.move_coordinator(arguments.need("group", str), times=_times(arguments, 1))


def _announce_versions(faults: Faults, arguments: Arguments) -> RequestFault:
    versions = arguments.need("max_versions", dict)
    for name, version in versions.items():
        if version is not None and (not isinstance(version, int) or isinstance(version, bool)):
            raise AdminPortError(400, f"max_versions: {name} must be an integer or null, not {version!r:.100}")
    return faults.announce_versions(versions)


KINDS: dict[str, Callable[[Faults, Arguments], RequestFault]] = {
    "fail": _fail,
    "delay": _delay,
    "hold": _hold,
    "disconnect": _disconnect,
    "throttle": _throttle,
    "move_coordinator": _move_coordinator,
    "announce_versions": _announce_versions,
}
"""The kinds of faults, each with the function that adds it."""
