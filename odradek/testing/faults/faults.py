"""The faults of one broker: a test adds them, and the broker's handlers are wrapped to apply them.

Owns: the list of faults, in the order in which they were added. Never does: I/O. Invariant: a request meets at most one
fault, the first that applies to it. Any thread may add and remove faults; the broker's thread reads the list.
"""

import difflib
import functools
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from odradek.broker.dispatch.served import SERVED, Handler, served_versions
from odradek.protocol.apis.api_keys import ApiKey, api
from odradek.protocol.errors import ErrorCode

from . import actions
from .actions import NOT_MET, Action, Call
from .fault import Hold, RequestFault
from .selection import HELPERS_CLIENT_ID, Divider, Selection

Apis = str | int | Sequence[str | int]
"""APIs by Kafka's names (``"Produce"``) or keys."""

OF_A_COORDINATOR = (
    ApiKey.JOIN_GROUP,
    ApiKey.SYNC_GROUP,
    ApiKey.HEARTBEAT,
    ApiKey.LEAVE_GROUP,
    ApiKey.CONSUMER_GROUP_HEARTBEAT,
    ApiKey.OFFSET_COMMIT,
    ApiKey.TXN_OFFSET_COMMIT,
    ApiKey.OFFSET_FETCH,
    ApiKey.DESCRIBE_GROUPS,
    ApiKey.CONSUMER_GROUP_DESCRIBE,
    ApiKey.DELETE_GROUPS,
    ApiKey.OFFSET_DELETE,
)
"""The APIs that the coordinator of a group answers."""


class Faults:
    """Adds faults to a broker. Each method returns a :class:`RequestFault`, which counts the requests that it has met.

    ``apis``: the requests to which the fault applies, by Kafka's API names. ``times``: how many requests meet the
    fault; None means all. The other arguments restrict it to requests of a ``topic`` and ``partition``, ``group``,
    ``transactional_id`` or ``client_id``: only the selected partitions of a request fail, the others are served. The
    helpers, such as ``kafka.produce()``, meet no faults. Raises ValueError for an API that is not served, and for an
    argument that requests of the API do not have.
    """

    def __init__(self) -> None:
        self._faults: tuple[tuple[frozenset[int], Selection, RequestFault, Action], ...] = ()
        self._turn = threading.Lock()
        """Held while a thread replaces the list."""

    def fail(self, apis: Apis, error: str | int, *, times: int | None = 1, **where: Any) -> RequestFault:
        """Answers with one of Kafka's errors, such as ``"NOT_LEADER_OR_FOLLOWER"``, instead of serving the request.

        Two kinds of requests are served first, and the error then replaces the result: a Fetch if the fault names a
        topic, and a request for all topics.
        """
        code = _error(error)
        return self._add(apis, f"{code.name} for {{}}", times, where, functools.partial(actions.fail, error=code))

    def delay(self, apis: Apis, seconds: float, *, times: int | None = None, **where: Any) -> RequestFault:
        """Serves requests at once, and sends each answer ``seconds`` later."""
        if seconds < 0:
            raise ValueError(f"seconds is {seconds}; it must be 0 or more")
        delay = functools.partial(actions.delay, delay_ms=round(seconds * 1000))
        return self._add(apis, f"{{}} answered {seconds:g} s later", times, where, delay)

    def hold(self, apis: Apis, *, served: bool = True, times: int | None = None, **where: Any) -> Hold:
        """Holds the answers until the test calls :meth:`Hold.release`. The requests are served at once; with
        ``served=False``, only after the release.
        """
        description = "answers to {} held" if served else "{} held before it is served"
        held = self._add(apis, description, times, where, functools.partial(actions.hold, served=served), Hold)
        assert isinstance(held, Hold)
        return held

    def disconnect(self, apis: Apis, *, served: bool = False, times: int | None = 1, **where: Any) -> RequestFault:
        """Closes the connection instead of answering. With ``served``, serves the request first: its answer is lost."""
        action = functools.partial(actions.disconnect, served=served)
        return self._add(apis, "the connection closed at {}", times, where, action)

    def throttle(self, apis: Apis, throttle_time_ms: int, *, times: int | None = None, **where: Any) -> RequestFault:
        """Sets ``throttle_time_ms`` in the answers, as quotas do (KIP-219). The answers are not delayed."""
        if throttle_time_ms < 0:
            raise ValueError(f"throttle_time_ms is {throttle_time_ms}; it must be 0 or more")

        def slow(response: Any) -> None:
            response.throttle_time_ms = throttle_time_ms

        for key in _keys(apis):
            if "throttle_time_ms" not in api(key).response_class().__slots__:
                raise ValueError(f"answers to {api(key).name} have no throttle time")
        return self.change_response(apis, slow, times=times, **where)

    def change_response(
        self, apis: Apis, change: Callable[[Any], Any], *, times: int | None = None, **where: Any
    ) -> RequestFault:
        """Passes each response through ``change`` before it is sent.

        ``change`` gets a message of :mod:`odradek.protocol.messages`. It changes the message and returns None, or
        returns another one. It is called in the broker's thread.
        """
        action = functools.partial(actions.change_response, change=change)
        return self._add(apis, "{} answered differently", times, where, action)

    def change_request(
        self, apis: Apis, change: Callable[[Any], Any], *, times: int | None = None, **where: Any
    ) -> RequestFault:
        """Passes each request through ``change`` before it is served.

        ``change`` gets a message of :mod:`odradek.protocol.messages`. It changes the message and returns None, or
        returns another one. It is called in the broker's thread; the records of a Produce request are valid only
        during the call.
        """
        action = functools.partial(actions.change_request, change=change)
        return self._add(apis, "{} changed before it is served", times, where, action)

    def announce_versions(self, max_versions: Mapping[str, int | None]) -> RequestFault:
        """Announces older versions of APIs to clients that connect from now on, as an older Kafka does.

        ``max_versions``: API name -> the highest version to announce, or None to leave the API out. Raises ValueError
        for a version that is not served.
        """
        limits = {_key(name): version for name, version in max_versions.items()}
        for key, version in limits.items():
            lowest, highest = served_versions(key)
            if version is not None and not lowest <= version <= highest:
                raise ValueError(f"{api(key).name} is served in versions {lowest} to {highest}, not in {version}")

        def announce(response: Any) -> None:
            response.api_keys = [api for api in response.api_keys if limits.get(api.api_key, api) is not None]
            for key in response.api_keys:
                key.max_version = min(key.max_version, limits.get(key.api_key, key.max_version))

        named = ", ".join(
            f"{name} {'not at all' if version is None else version}" for name, version in max_versions.items()
        )
        description = f"announced at most: {named}"
        return self._add(
            "ApiVersions", description, None, {}, functools.partial(actions.change_response, change=announce)
        )

    def move_coordinator(self, group: str, *, times: int | None = 1) -> RequestFault:
        """Answers the next requests of a group with NOT_COORDINATOR, so that clients look up the coordinator again."""
        return self.fail(OF_A_COORDINATOR, ErrorCode.NOT_COORDINATOR, times=times, group=group)

    def clear(self) -> None:
        """Ends all faults, and sends the held answers."""
        for _, _, fault, _ in self._faults:
            fault.remove()

    def __iter__(self) -> Iterator[RequestFault]:
        """The faults that were not removed, in the order in which they were added."""
        return iter([fault for _, _, fault, _ in self._faults])

    @property
    def are_set(self) -> bool:
        """Whether there are any."""
        return bool(self._faults)

    def intercept(self, api_key: int, handle: Handler) -> Handler:
        """Wraps the handler of an API so that faults apply to its requests. Without faults it costs one comparison."""

        def serve(broker: Any, request: Any, context: Any, reply: Any) -> Iterator[object] | None:
            # The request is None if its version is unknown: the handler then answers with the versions it serves.
            if self._faults and request is not None and context.client_id != HELPERS_CLIENT_ID:
                return self._serve(Call(api_key, handle, broker, request, context, reply))
            return handle(broker, request, context, reply)

        return serve

    def _serve(self, call: Call) -> Iterator[object] | None:
        topics = call.broker.metadata.image.topics_by_id
        for keys, selection, fault, action in self._faults:
            if call.api_key not in keys or fault.is_over:
                continue
            if selection.client_id is not None and selection.client_id != call.context.client_id:
                continue
            divider = Divider(selection, call.api_key, lambda topic_id: getattr(topics.get(topic_id), "name", None))
            steps = action(call, divider, fault)
            if steps is not NOT_MET:
                served: Iterator[object] | None = steps
                return served
        return call.serve()

    def _add(
        self,
        apis: Apis,
        description: str,
        times: int | None,
        where: dict[str, Any],
        action: Action,
        kind: type[RequestFault] = RequestFault,
    ) -> RequestFault:
        if times is not None and times < 1:
            raise ValueError(f"times is {times}; it must be at least 1, or None for all requests")
        keys = _keys(apis)
        selection = replace(Selection(), **where)
        if wrong := selection.of_wrong_type():
            raise TypeError(wrong)
        for key in keys:
            if missing := selection.missing_in(key):
                raise ValueError(f"no {api(key).name} request names a {missing[0]}")
        named = ", ".join(api(key).name for key in keys) + selection.shown()
        fault = kind(description.format(named), times, self._remove)
        with self._turn:
            self._faults = (*self._faults, (frozenset(keys), selection, fault, action))
        return fault

    def _remove(self, fault: RequestFault) -> None:
        with self._turn:
            self._faults = tuple(entry for entry in self._faults if entry[2] is not fault)


def _keys(apis: Apis) -> list[int]:
    """The keys of APIs. Raises ValueError for one that is not served."""
    return [_key(api) for api in ([apis] if isinstance(apis, str | int) else apis)]


def _key(one: str | int) -> int:
    names = {api(key).name: int(key) for key in sorted(SERVED)}
    key = names.get(one) if isinstance(one, str) else one
    if key is None or key not in SERVED:
        near = difflib.get_close_matches(str(one), names)
        raise ValueError(f"{one!r} is not an API of this broker{_did_you_mean(near)}")
    return key


def _error(error: str | int) -> ErrorCode:
    if isinstance(error, str):
        if error not in ErrorCode.__members__:
            near = difflib.get_close_matches(error.upper(), ErrorCode.__members__)
            raise ValueError(f"{error!r} is not a Kafka error{_did_you_mean(near)}")
        error = ErrorCode[error]
    if not error:
        raise ValueError("NONE is not an error")
    return ErrorCode(error)


def _did_you_mean(near: Sequence[str]) -> str:
    return f"; did you mean {near[0]}?" if near else ""
