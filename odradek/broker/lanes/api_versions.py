"""The lane of ApiVersions (18): answers kept as bytes, by request.

Serves requests without an error. An answer holds until the metadata or the versions that the controllers serve change.

Owns: the kept answers. Source: ``api/api_versions.py``, which makes them.
"""

from typing import Any

from ..api.api_versions import handle
from ..dispatch.lane import Answering, only_part
from ..dispatch.request import RequestContext
from ..dispatch.route import Lane, Route
from ..network.connection import Connection
from .parts import LONGEST_FRAME, LaneParts, decoded, remember
from .template import FixedAnswer

MOST_KEPT = 256
"""The most answers that are kept, of about 600 bytes each; then all are dropped, since clients may send any names."""


class _Identified(RequestContext):
    """The context of a request that is answered in advance. ``software``: what the client says of its library."""

    __slots__ = ("software",)

    def identify(self, software_name: str, software_version: str) -> None:
        """Notes the client library."""
        self.software: tuple[str, str] = (software_name, software_version)


class _Kept:
    """An answer. ``software``: of the client; None before version 3."""

    __slots__ = ("answer", "client_id", "software", "successes")

    def __init__(self, encoded: bytes, client_id: str | None, software: tuple[str, str] | None, successes: int) -> None:
        self.answer = FixedAnswer(encoded)
        self.client_id = client_id
        self.software = software
        self.successes = successes


def api_versions_lane(parts: LaneParts, route: Route, answering: Answering) -> Lane:
    """The lane of one version."""
    broker, metadata = parts.broker, parts.metadata
    kept: dict[bytes, _Kept] = {}
    valid_for: Any = None

    def answer_once(connection: Connection, frame: memoryview) -> _Kept | None:
        asked = decoded(route, frame)
        if asked is None:
            return None
        request, client_id, _ = asked
        connection.client_id = client_id
        context = _Identified(route.api_key, route.version, client_id, "", connection.listener_name, 0, 0)
        answers: list[Any] = []
        handle(broker, request, context, answers.append)
        if answers[0].error_code:
            return None
        encoded = only_part(route.encode(answers[0], 0))
        successes, _ = answering.count(answers[0])
        found = _Kept(encoded, client_id, getattr(context, "software", None), successes)
        remember(kept, bytes(frame[8:]), found, MOST_KEPT)
        return found

    def serve(connection: Connection, frame: memoryview) -> bool:
        nonlocal valid_for
        if len(frame) > LONGEST_FRAME:
            return False
        now = metadata.image, metadata.finalized_features_epoch(), broker.forwarded_versions()
        if valid_for is None or valid_for[0] is not now[0] or valid_for[1:] != now[1:]:
            kept.clear()
            valid_for = now
        known = kept.get(bytes(frame[8:])) or answer_once(connection, frame)
        if known is None:
            return False
        if known.software is not None:
            connection.software = known.software
        connection.client_id, connection.is_known = known.client_id, True
        answering.send(connection, [known.answer.encoded(frame)], known.successes)
        return True

    return serve
