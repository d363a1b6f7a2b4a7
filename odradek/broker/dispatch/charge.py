"""Charges requests to their clients' quotas, and mutes the connections of clients over a quota (KIP-219).

Owns: the cost of one request: its bytes, its time on the event loop and on threads. Never does: computing throttle
times (:mod:`..quotas` does), sending. Invariants: a request is charged once, when it is answered; if several quotas are
exceeded, the longest throttle time counts. Source: ClientQuotaManager, ClientRequestQuotaManager, RequestHandlerHelper.

This module is imported when the metadata gets its first quota.
"""

from collections.abc import Callable, Iterator
from copy import copy
from math import inf
from time import perf_counter_ns, thread_time_ns
from typing import TYPE_CHECKING, Any, Protocol, cast

from odradek.protocol.apis.api_keys import ApiKey
from odradek.protocol.common.steps import Result, Steps
from odradek.protocol.errors import ErrorCode, KafkaError
from odradek.protocol.security.acl import ANONYMOUS
from odradek.protocol.security.canonical_host import network_of

from ..network.response_writer import Part
from ..quotas.client_quota import ClientQuota, QuotaSensor
from ..quotas.client_quotas import ClientQuotas
from ..quotas.sensors import SensorOwner
from .route import ForwardingRoute, Route

if TYPE_CHECKING:
    from ..metrics.request_meters import VersionMeter

NS_A_PERCENT = 10_000_000
"""Nanoseconds in a hundredth of a second: a request quota of 1 per cent allows this much time each second."""
EXCEEDED = "The throttling quota has been exceeded."


class Mutable(Protocol):
    """A connection that can be muted."""

    def mute(self, mute_ms: int) -> None:
        """Serves no further request of the connection for ``mute_ms``."""


class Charged(Protocol):
    """A request, and who has sent it."""

    @property
    def api_key(self) -> int:
        """The API."""

    @property
    def principal(self) -> str:
        """``Type:name``."""

    @property
    def client_id(self) -> str | None:
        """The client's id."""

    @property
    def client_host(self) -> str:
        """The client's address."""


class Charging:
    """Charges the requests of one broker."""

    def __init__(
        self, quotas: ClientQuotas, now_ms: Callable[[], int], clock_ns: Callable[[], int] = perf_counter_ns
    ) -> None:
        """``now_ms``: a monotonic clock for rates. ``clock_ns``: a precise one for the time of requests."""
        self.quotas = quotas
        self.now_ms = now_ms
        self.clock_ns = clock_ns

    def begin(self, context: Charged, size: int) -> "Charge":
        """The charge of a request that begins now. ``size``: of its frame, in bytes."""
        return Charge(self, context, size)


class Charge:
    """The cost of one request, and the throttle time that follows from it."""

    def __init__(self, charging: Charging, context: Charged, size: int) -> None:
        self._charging = charging
        self._quotas = charging.quotas
        self._user = context.principal.partition(":")[2]
        self._client_id = context.client_id or ""
        is_stranger = context.principal == ANONYMOUS
        self._owner = (
            SensorOwner(network_of(context.client_host)) if is_stranger else SensorOwner(context.principal, True)
        )
        self._size = size
        self._spent_ns = 0
        self._begun_ns: int | None = charging.clock_ns()
        """When the present piece of work began; None while the request waits."""
        self._is_exempt = context.api_key == ApiKey.WRITE_TXN_MARKERS
        self._own_ms = 0
        self._own: QuotaSensor | None = None
        """The sensor of the quota for produce, fetch or mutations; ``_own_ms`` is the throttle time of that quota."""
        self._own_until_ms: int | None = None
        self._is_timed = False
        self._is_settled = False
        self._mute_ms = 0
        self._throttle_ms = 0
        """The part of ``_mute_ms`` that is this broker's own: a controller may have a longer one."""
        self._meter: VersionMeter | None = None

    # For handlers.

    def fetch_max_bytes(self, is_follower: bool) -> float:
        """The largest answer to Fetch, in bytes, that alone is within the quota; infinite for followers."""
        self._is_exempt = is_follower
        quota = self._quotas.fetch
        return inf if is_follower or not quota.is_enabled else quota.most_in_window(self._sensor(quota))

    def fetched(self, size: int) -> int:
        """Charges a Fetch. Returns the ms to mute; if more than 0, the bytes are not charged, and must not be sent."""
        quota, now_ms = self._quotas.fetch, self._charging.now_ms()
        if quota.is_enabled:
            self._own = self._sensor(quota)
            self._own_ms = quota.throttle_ms(self._own, size, now_ms)
        self._charge_time(now_ms)
        if (self._mute_ms or self._own_ms) and self._own is not None:
            self._own.rate.record(-size, now_ms)
        return max(self._mute_ms, self._own_ms)

    def mutations(self, strict: bool) -> Callable[[int], None]:
        """The function that charges created and deleted partitions. If ``strict``, it raises beyond the quota."""
        quota = self._quotas.mutation

        def take(partitions: int) -> None:
            if not quota.is_enabled:
                return
            now_ms = self._charging.now_ms()
            self._own = self._sensor(quota)
            if not strict:
                missing_ms = quota.throttle_ms(self._own, partitions, now_ms)
            else:
                missing_ms = quota.missing_ms(self._own, now_ms)
                if not missing_ms:
                    quota.take(self._own, partitions, now_ms)
            if missing_ms:
                self._own_until_ms = now_ms + missing_ms
            if missing_ms and strict:
                raise KafkaError(ErrorCode.THROTTLING_QUOTA_EXCEEDED, EXCEEDED)

        return take

    # Time.

    def handled(self, steps: Iterator[object] | None) -> Iterator[object] | None:
        """Stops the clock after the handler has returned. Returns its steps, if any, with their time charged."""
        self._pause()
        return None if steps is None else self.timed(steps)

    def timed(self, steps: Iterator[object]) -> Iterator[object]:
        """Runs the same steps and charges the time of each."""
        try:
            while True:
                self._begun_ns = self._charging.clock_ns()
                try:
                    step = next(steps)
                except StopIteration:
                    return
                finally:
                    self._pause()
                yield step
        finally:
            close = getattr(steps, "close", None)
            if close is not None:
                close()

    def on_thread(self, steps: Steps[Result]) -> Steps[Result]:
        """Wraps steps that a thread runs. Charges their CPU time, because a thread also waits for the event loop."""
        try:
            while True:
                begun_ns = thread_time_ns()
                try:
                    next(steps)
                except StopIteration as end:
                    result: Result = end.value
                    return result
                finally:
                    self._spent_ns += thread_time_ns() - begun_ns
                yield
        finally:
            steps.close()

    def _pause(self) -> None:
        if self._begun_ns is not None:
            self._spent_ns += self._charging.clock_ns() - self._begun_ns
            self._begun_ns = None

    # The answer.

    def settle(self, route: Route, response: Any) -> Any:
        """Charges the request. Returns its response, with the throttle time set if there is one.

        ``response`` is None if the request gets no response.
        """
        if not self._is_settled:
            self._is_settled = True
            self._charge(route.api_key, response is None)
            self._throttle_ms, self._meter = self._mute_ms, route.meter
        if isinstance(response, bytes) and isinstance(route, ForwardingRoute):
            response = self._settle_forwarded(route, response)
        if self._mute_ms and hasattr(response, "throttle_time_ms"):
            response = copy(response)  # handlers may use one object for several answers
            response.throttle_time_ms = self._mute_ms
        return response

    def settle_encoded(self, route: Route, parts: list[Part] | None) -> list[Part] | None:
        """:meth:`settle` for the answer of a lane, which is encoded already; None if the request gets no answer."""
        self._charge(route.api_key, parts is None)
        self._throttle_ms, self._meter = self._mute_ms, route.meter
        if not self._mute_ms or parts is None:
            return parts
        answer = b"".join(cast("list[bytes]", parts))
        response = route.decode_answer(memoryview(answer)[4:])
        response.throttle_time_ms = self._mute_ms
        throttled: list[Part] = route.encode(response, int.from_bytes(answer[4:8], "big"))
        return throttled

    def mute(self, connection: Mutable) -> None:
        """Mutes the connection if there is a throttle time. Call it after encoding the answer and before sending it."""
        if self._begun_ns is not None:
            self._pause()
        if self._is_timed and self._spent_ns:
            # Record the time of encoding. As in Kafka, it is charged too late for this request, and counts for later
            # ones.
            quota = self._quotas.request
            self._sensor(quota).rate.record(self._spent_ns / NS_A_PERCENT, self._charging.now_ms())
            self._spent_ns = 0
        if self._mute_ms:
            if self._meter is not None:
                self._meter.api.throttle_waits.note(self._throttle_ms * 1_000_000)
            connection.mute(self._mute_ms)

    def _settle_forwarded(self, route: ForwardingRoute, response: bytes) -> Any:
        """Takes the longer throttle time: of this broker, or of the controller that answered. Returns the response.

        The returned response is decoded only if this broker's throttle time must be set in it.
        """
        message = route.message(response)
        theirs_ms = getattr(message, "throttle_time_ms", 0)
        if theirs_ms >= self._mute_ms:
            self._mute_ms = theirs_ms
            return response
        return message

    def _charge(self, api_key: int, is_unanswered: bool) -> None:
        now_ms = self._charging.now_ms()
        if api_key == ApiKey.PRODUCE:
            quota = self._quotas.produce
            if quota.is_enabled:
                self._own = self._sensor(quota)
                self._own_ms = quota.throttle_ms(self._own, self._size, now_ms)
        elif self._own_until_ms is not None:
            self._own_ms = max(0, self._own_until_ms - now_ms)
        if not self._is_timed and not is_unanswered:
            self._charge_time(now_ms)
        request_ms = self._mute_ms
        self._mute_ms = max(request_ms, self._own_ms)
        if self._mute_ms:
            sensor = self._own if self._own_ms > request_ms else self._sensor(self._quotas.request)
            assert sensor is not None
            sensor.throttled(self._mute_ms, now_ms)

    def _charge_time(self, now_ms: int) -> None:
        """Charges the time spent until now to the request quota."""
        quota = self._quotas.request
        if self._is_exempt or not quota.is_enabled:
            return
        self._is_timed = True
        begun_ns = self._begun_ns
        self._pause()
        if begun_ns is not None:
            self._begun_ns = self._charging.clock_ns()
        spent_ns, self._spent_ns = self._spent_ns, 0
        self._mute_ms = quota.throttle_ms(self._sensor(quota), spent_ns / NS_A_PERCENT, now_ms)

    def _sensor(self, quota: ClientQuota) -> QuotaSensor:
        return quota.sensor(self._user, self._client_id, self._charging.now_ms(), self._owner)
