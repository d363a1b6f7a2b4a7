"""Charges the requests that a lane serves to the quotas of their clients (:mod:`.charge`).

Owns: the charge of the request that the lane serves now. Never does: serving. This module is imported when the metadata
gets its first quota. Source: ``RequestHandlerHelper``, as on the general path.
"""

from typing import Any

from odradek.protocol.errors import ProtocolError

from ..network.connection import Connection
from ..network.response_writer import Part
from .charge import Charge, Charging
from .lane import NO_FAILURES, Answering, PostponedAnswering
from .route import Keep, Lane, Route


class _ChargedRequest:
    """Who has sent a request (:class:`.charge.Charged`)."""

    __slots__ = ("api_key", "client_host", "client_id", "principal")

    def __init__(self, api_key: int, connection: Connection, client_id: str | None) -> None:
        self.api_key = api_key
        self.principal = connection.principal
        self.client_id = client_id
        self.client_host = connection.client_host


class ChargedAnswers:
    """Charges each answer of a lane before it is sent (:class:`.lane.Answering`)."""

    __slots__ = ("_answering", "_charge", "_charging", "_route")

    def __init__(self, charging: Charging, route: Route, answering: Answering) -> None:
        self._charging = charging
        self._route = route
        self._answering = answering
        self._charge: Charge | None = None

    def send(
        self,
        connection: Connection,
        parts: list[Part] | None,
        successes: int = 1,
        failures: dict[int, int] = NO_FAILURES,
    ) -> None:
        """Charges an answer, with the throttle time set if there is one, and sends it."""
        charge, self._charge = self._charge, None
        if charge is not None:
            parts = charge.settle_encoded(self._route, parts)
            charge.mute(connection)
        self._answering.send(connection, parts, successes, failures)

    def postponed(self) -> PostponedAnswering:
        """Never called: lanes that postpone answers are not used if clients have quotas."""
        raise AssertionError("a lane with charges postpones no answer")

    def count(self, response: Any) -> tuple[int, dict[int, int]]:
        """The error codes in a response (:meth:`.lane.Answering.count`)."""
        return self._answering.count(response)

    def charging(self, lane: Lane) -> Lane:
        """The lane, with its requests charged."""

        def serve(connection: Connection, frame: memoryview) -> bool | Keep:
            try:
                client_id = self._route.decode_head(frame)[1]
            except ProtocolError:
                return False
            request = _ChargedRequest(self._route.api_key, connection, client_id)
            self._charge = self._charging.begin(request, len(frame))
            served = lane(connection, frame)
            self._charge = None
            return served

        return serve
