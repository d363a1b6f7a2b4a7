"""Compares each lane with the general path, in every broker of this process. TESTS_COMPARE_LANES=1 switches it on.

A request that a lane has served is served by the general path, too. The lane's appends are real. Everything else that
both do (answers, timers, counts, waits, woken fetches) is recorded and happens only after the comparison, once. The
general path gets the lane's results for its appends. So nothing happens twice, and tests pass as without comparison.

Owns: the difference between the two. Never does: failing a request. Differences are lines in the folder that
DIFFERENCES names. A lane that leaves a request to the general path must have done nothing.

It wraps methods of the broker's classes, so a broker without it pays nothing. This file imports nothing of the tests: a
broker in another process loads it alone (``sitecustomize.py``).
"""

import os
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial, wraps
from pathlib import Path
from typing import Any

from odradek.broker.api import fetch as fetch_api
from odradek.broker.coordinator.shard_timers import ShardTimers
from odradek.broker.dispatch.lane import NO_FAILURES, Answering, CountedAnswers
from odradek.broker.dispatch.request import ConnectionRefusal
from odradek.broker.dispatch.request_in_service import RequestInService
from odradek.broker.dispatch.route import Lane, Route
from odradek.broker.fetch.session import FetchSession, FetchSessionCache
from odradek.broker.fetch.wait import FetchWait
from odradek.broker.groups.offsets.store import OffsetStore
from odradek.broker.lanes import fetch as fetch_lane
from odradek.broker.lanes.lanes import BrokerLanes
from odradek.broker.lanes.parts import LaneParts
from odradek.broker.metrics.topic_meters import TopicMeters
from odradek.broker.network.connection import Connection
from odradek.broker.network.request_order import RequestOrder
from odradek.broker.replicas.group_commit import GroupCommit
from odradek.broker.replicas.partition import Partition

DIFFERENCES = "TESTS_LANE_DIFFERENCES"
"""The environment variable that names the folder for differences. Each process appends to a file of its own."""
SHOWN = 400
"""The most characters of a value in a line."""

ERROR_CODES = "error codes"
"""The kind of effect that only a broker with metrics has."""

SetAttribute = Callable[[Any, str, Any], None]


class NotAppendedError(Exception):
    """The general path appends what the lane has not appended."""


class Recording:
    """What one of the two ways does with a request. ``later``: what happens after the comparison."""

    def __init__(self, now_ms: int, results: Sequence[object] | None = None) -> None:
        """``results``: of the lane's appends, for the general path; None for a lane."""
        self.now_ms = now_ms
        self.effects: dict[str, list[object]] = {}
        """By their kind: the two ways do not all in the same order."""
        self.later: list[Callable[[], None]] = []
        self.results: list[object] = [] if results is None else list(results)
        self.is_lane = results is None
        self.complete: Callable[[], None] | None = None
        """Ends the wait that has begun, if one has."""
        self.responses: list[object] = []
        """Of the general path."""
        self.before = Snapshot()
        """What the lane changes in place, as it was before."""

    def note(self, kind: str, effect: object) -> None:
        """Notes an effect."""
        self.effects.setdefault(kind, []).append(effect)


class Snapshot:
    """The attributes of some objects at one moment."""

    def __init__(self) -> None:
        self._objects: list[Any] = []
        self._values: list[dict[str, object]] = []

    def add(self, one: Any, names: Iterable[str]) -> None:
        """Adds an object with these attributes."""
        self._objects.append(one)
        self._values.append({name: getattr(one, name) for name in names})

    def add_session(self, session: FetchSession) -> None:
        """Adds a fetch session and its partitions."""
        self.add(session, FetchSession.__slots__)
        for partition in session.partitions.values():
            self.add(partition, type(partition).__slots__)

    def again(self) -> "Snapshot":
        """The same attributes of the same objects now."""
        now = Snapshot()
        for one, values in zip(self._objects, self._values, strict=True):
            now.add(one, values)
        return now

    def restore(self) -> None:
        """Gives the objects these attributes."""
        for one, values in zip(self._objects, self._values, strict=True):
            for name, value in values.items():
                setattr(one, name, value)

    def differences(self, other: "Snapshot") -> Iterator[str]:
        """The attributes that differ in another snapshot of the same objects."""
        for one, ours, theirs in zip(self._objects, self._values, other._values, strict=True):
            for name, value in ours.items():
                if value != theirs[name]:
                    yield f"{type(one).__name__}.{name}: lane {value!r}, general path {theirs[name]!r}"


class _Current(threading.local):
    """The recording of this thread, in which a broker serves a request; None outside."""

    recording: Recording | None = None


_current = _Current()


@contextmanager
def _recorded(recording: Recording) -> Iterator[None]:
    _current.recording = recording
    try:
        yield
    finally:
        _current.recording = None


class Notes:
    """Records the answers of a lane. It stands between the lane and what sends its answers."""

    def __init__(self, sending: Any, *, counts: bool) -> None:
        """``sending``: the real one, or that of an answer that waits. ``counts``: whether there are metrics."""
        self._sending = sending
        self._counts = counts

    def send(
        self, connection: Connection, parts: Any, successes: int = 1, failures: dict[int, int] = NO_FAILURES
    ) -> None:
        """Records an answer; it is sent later."""
        send = partial(self._sending.send, connection, parts, successes, failures)
        recording = _current.recording
        if recording is None:
            send()
            return
        recording.note("answer", _joined(parts))
        if self._counts and parts is not None:
            recording.note(ERROR_CODES, (successes, dict(failures)))
        recording.later.append(send)

    def postponed(self) -> "Notes":
        """The same for an answer that waits."""
        return Notes(self._sending.postponed(), counts=self._counts)

    def hand_over(self, context: RequestInService) -> None:
        """As of the real one."""
        self._sending.hand_over(context)

    def count(self, response: object) -> tuple[int, dict[int, int]]:
        """As of the real one."""
        counted: tuple[int, dict[int, int]] = self._sending.count(response)
        return counted


def _joined(parts: Sequence[Any] | None) -> bytes | None:
    """An answer as bytes; regions of files are read, but stay open."""
    if parts is None:
        return None
    return b"".join(part.read() if hasattr(part, "read") else bytes(part) for part in parts)


class ComparedLane:
    """A lane of one version of an API, with the general path beside it."""

    def __init__(self, lane: Lane, route: Route, parts: LaneParts, notes: Notes) -> None:
        self._lane = lane
        self._route = route
        self._parts = parts
        self._notes = notes

    def serve(self, connection: Connection, frame: memoryview) -> Any:
        """Serves a request (:data:`Lane`), and compares."""
        by_lane = Recording(self._parts.clock_ms())
        by_lane.before.add(connection, ["software"])
        by_lane.before.add(self._parts.groups.counts, type(self._parts.groups.counts).__slots__)
        with _recorded(by_lane):
            served = self._lane(connection, frame)
        if served is not True:
            after = by_lane.before.again()
            left = [*after.differences(by_lane.before), *map(str, by_lane.effects)]
            if left:
                self._report(frame, f"the lane leaves the request to the general path, but has changed {left}")
            _carry_out(by_lane)
            return served
        self._compare(bytes(frame), by_lane, partial(self._serve_generally, connection, frame))
        return True

    def _compare(self, frame: bytes, by_lane: Recording, serve_generally: Callable[[], None]) -> None:
        """Runs the general path, reports what differs, and carries out what the lane did."""
        after_lane = by_lane.before.again()
        by_lane.before.restore()
        generally = Recording(by_lane.now_ms, by_lane.results)
        try:
            with _recorded(generally):
                serve_generally()
        except Exception as error:  # noqa: BLE001 - it must not reach the dispatcher: the request was served
            self._report(frame, f"the general path fails: {error!r}")
        if ERROR_CODES in by_lane.effects:
            for response in generally.responses:
                successes, failures = self._notes.count(response)
                generally.note(ERROR_CODES, (successes, dict(failures)))
        found = [*after_lane.differences(by_lane.before.again())]
        for kind in sorted(by_lane.effects.keys() | generally.effects):
            ours, theirs = by_lane.effects.get(kind, []), generally.effects.get(kind, [])
            if ours != theirs:
                found.append(f"{kind}: lane {_shown(ours)}, general path {_shown(theirs)}")
        for difference in found:
            self._report(frame, difference)
        after_lane.restore()
        generally.later.clear()  # the effects of the lane happen
        if by_lane.complete is not None and generally.complete is not None:
            by_lane.complete = partial(self._complete, frame, by_lane.complete, generally.complete)
        _carry_out(by_lane)

    def _serve_generally(self, connection: Connection, frame: memoryview) -> None:
        """As the dispatcher does, at once to its end."""
        route, recording = self._route, _current.recording
        assert recording is not None
        correlation_id, client_id, position = route.decode_head(frame)
        request, _ = route.decode(frame, position)
        context = RequestInService(
            connection, route, correlation_id, client_id, recording.now_ms, owns_frame=False, in_slices=False
        )
        context.keep = _keep_response
        try:
            for _ in route.handle(self._parts.broker, request, context, context) or ():
                pass
        except ConnectionRefusal as refusal:
            recording.note("refusal", str(refusal))

    def _complete(self, frame: bytes, lane: Any, generally: Callable[[], None]) -> None:
        """Ends a wait on both ways."""
        waiting = lane.__self__
        if waiting.connection.is_closing:
            lane()
            return
        by_lane = Recording(self._parts.clock_ms())
        if waiting.session is not None:
            by_lane.before.add_session(waiting.session)
        with _recorded(by_lane):
            lane()
        self._compare(frame, by_lane, generally)

    def _report(self, frame: bytes | memoryview, difference: str) -> None:
        name = f"{self._route.name} version {self._route.version}"
        report(f"{name}: {difference}; request {_shown(bytes(frame).hex())}")


def _keep_response(response: object, _: object) -> None:
    if _current.recording is not None:
        _current.recording.responses.append(response)


def report(difference: str) -> None:
    """Writes a difference where the test that runs will find it."""
    folder = Path(os.environ[DIFFERENCES])
    with (folder / f"{os.getpid()}.txt").open("a") as file:
        file.write(difference.replace("\n", " ") + "\n")


def _shown(value: object) -> str:
    text = value if isinstance(value, str) else repr(value)
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}... ({len(text)} characters)"


def _carry_out(recording: Recording) -> None:
    later, recording.later = recording.later, []
    for effect in later:
        effect()


# What is wrapped.


def install(set_attribute: SetAttribute = setattr) -> None:
    """Compares the lanes of all brokers that this process starts from now on. A second call does nothing."""
    if hasattr(BrokerLanes.lane_of, "compares"):
        return
    _compare_lanes(set_attribute)
    _record_appends(set_attribute)
    _record_waits(set_attribute)
    _run_steps_at_once(set_attribute)
    for owner, name, notes in (
        (RequestOrder, "answered", _answer),
        (RequestOrder, "answered_in_pieces", _answer),
        (RequestOrder, "mute", lambda _, mute_ms: [("mute", mute_ms)]),
        (Connection, "refuse", lambda _, reason, parts=None: [("refusal", str(reason))]),
        (Partition, "notify_when_seen", lambda one, *grown: [("grown", (one.topic, one.index, *grown))]),
        (Partition, "append_later", lambda one, *_: [("append on a thread", (one.topic, one.index))]),
        (GroupCommit, "when_synced", lambda _, log, offset, callback: [("sync", offset)]),
        (ShardTimers, "carry_out", lambda _, timers: [("timer", timer) for timer in timers]),
        (OffsetStore, "put_committed", lambda _, *committed: [("committed offset", committed)]),
        (TopicMeters, "appended", lambda _, *counted: [("count of an append", counted)]),
        (TopicMeters, "refused", lambda _, *counted: [("count of a refusal", counted)]),
        (TopicMeters, "read", lambda _, *counted: [("count of a read", counted)]),
        (TopicMeters, "fetched", _counted_reads),
    ):
        _record(set_attribute, owner, name, notes)


def _answer(_: object, parts: Sequence[Any] | None) -> list[tuple[str, object]]:
    return [("answer", _joined(parts))]


def _counted_reads(_: object, reads: Iterable[Any]) -> list[tuple[str, object]]:
    return [("count of a read", (read.wanted.resolved_name, read.records_bytes)) for read in reads]


def _record(
    set_attribute: SetAttribute, owner: type, name: str, notes: Callable[..., Iterable[tuple[str, object]]]
) -> None:
    """Lets a method that returns nothing only record what it is asked to do, while a request is compared."""
    real = getattr(owner, name)

    @wraps(real)
    def method(self: Any, *arguments: Any, **more: Any) -> Any:
        recording = _current.recording
        if recording is None:
            return real(self, *arguments, **more)
        for kind, effect in notes(self, *arguments, **more):
            recording.note(kind, effect)
        recording.later.append(partial(real, self, *arguments, **more))
        return None

    set_attribute(owner, name, method)


def _record_appends(set_attribute: SetAttribute) -> None:
    append = Partition.append

    @wraps(append)
    def recorded(self: Partition, records: Any, *arguments: Any, **more: Any) -> Any:
        recording = _current.recording
        if recording is None:
            return append(self, records, *arguments, **more)
        what = self.topic, self.index, bytes(records), arguments, more
        if recording.is_lane:
            result = append(self, records, *arguments, **more)
            recording.results.append(result)
            recording.note("append", what)
            return result
        recording.note("append", what)
        if not recording.results:
            raise NotAppendedError(f"{self.topic}-{self.index}")
        return recording.results.pop(0)

    set_attribute(Partition, "append", recorded)


def _run_steps_at_once(set_attribute: SetAttribute) -> None:
    run = RequestOrder.run

    @wraps(run)
    def run_at_once(self: RequestOrder, steps: Iterator[object], *more: Any) -> None:
        if _current.recording is None:
            run(self, steps, *more)
            return
        for _ in steps:
            pass

    set_attribute(RequestOrder, "run", run_at_once)


class _NoWait:
    """Stands for a wait while it is not known yet whether both ways wait."""

    is_over = False

    def __init__(self, recording: Recording) -> None:
        self._recording = recording

    def complete(self) -> None:
        """The general path has seen that the partition has grown."""
        self._recording.note("end of a wait", "at once")


def _record_waits(set_attribute: SetAttribute) -> None:
    def wait(
        sources: Iterable[Any],
        missing_bytes: int,
        delay_ms: int,
        schedule: Callable[..., Any],
        complete: Callable[[], None],
    ) -> Any:
        recording, sources = _current.recording, list(sources)
        if recording is None:
            return FetchWait(sources, missing_bytes, delay_ms, schedule, complete)
        recording.note("wait", ([id(source) for source in sources], missing_bytes, delay_ms))
        recording.complete = complete

        def begin() -> None:
            assert recording.complete is not None
            FetchWait(sources, missing_bytes, delay_ms, schedule, recording.complete)

        recording.later.append(begin)
        return _NoWait(recording)

    for module in (fetch_lane, fetch_api):
        set_attribute(module, "FetchWait", wait)
    session_of_one = FetchSessionCache.session_of_one

    @wraps(session_of_one)
    def noted(self: FetchSessionCache, *arguments: Any) -> FetchSession | None:
        session = session_of_one(self, *arguments)
        if session is not None and _current.recording is not None:
            _current.recording.before.add_session(session)
        return session

    set_attribute(FetchSessionCache, "session_of_one", noted)


def _compare_lanes(set_attribute: SetAttribute) -> None:
    lane_of = BrokerLanes.lane_of

    @wraps(lane_of)
    def compared(self: BrokerLanes, route: Route, answering: Answering, *, is_charged: bool) -> Lane | None:
        real_ms = self._parts.clock_ms

        def clock_ms() -> int:
            return real_ms() if _current.recording is None else _current.recording.now_ms

        notes = Notes(answering, counts=isinstance(getattr(answering, "_answering", answering), CountedAnswers))
        parts = replace(self._parts, clock_ms=clock_ms)
        lane = lane_of(BrokerLanes(parts), route, notes, is_charged=is_charged)
        return None if lane is None else ComparedLane(lane, route, parts, notes).serve

    compared.compares = True  # type: ignore[attr-defined]
    set_attribute(BrokerLanes, "lane_of", compared)
