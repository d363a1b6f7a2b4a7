"""The lane of Metadata (3), FindCoordinator (10) and DescribeCluster (60): answers kept as bytes.

The general path answers a request once. Its answer is kept, and given to every equal request on the same listener until
the metadata changes. With an authorizer it is given to the same principal and host only, until an ACL changes. Leaves
to the general path: requests of more than LONGEST_FRAME bytes, and those whose answers have an error at their top, as
these may create topics or log a denial.

Owns: the kept answers. Source: ``KRaftMetadataCache``; the bytes are ours.
"""

from collections.abc import Callable, Sequence
from operator import attrgetter
from typing import Any

from odradek.protocol.apis.api_keys import ApiKey

from ..dispatch.lane import Answering, only_part
from ..dispatch.route import Keep, Lane, Route
from ..metadata.image.image import MetadataImage
from ..network.connection import Connection
from .parts import LaneParts
from .template import FixedAnswer

LONGEST_FRAME = 1024
"""The bytes of a request that is remembered."""
MOST_BYTES = 2 * 1024 * 1024
"""The kept bytes of one version of an API."""


error_code_of = attrgetter("error_code")


def _topics_without_error(response: Any) -> bool:
    return not response.error_code and not any(map(error_code_of, response.topics))


def _coordinators_without_error(response: Any) -> bool:
    return not response.error_code and not any(map(error_code_of, response.coordinators))


def _no_error(response: Any) -> bool:
    return not response.error_code


MAY_BE_KEPT: dict[int, Callable[[Any], bool]] = {
    ApiKey.METADATA: _topics_without_error,
    ApiKey.FIND_COORDINATOR: _coordinators_without_error,
    ApiKey.DESCRIBE_CLUSTER: _no_error,
}
"""The APIs whose answers are kept, with the check of an answer."""


class KeptAnswer:
    """An answer, and how many of its error codes are 0 and are not."""

    __slots__ = ("answer", "failures", "successes")

    def __init__(self, encoded: bytes, successes: int, failures: dict[int, int]) -> None:
        self.answer = FixedAnswer(encoded)
        self.successes = successes
        self.failures = failures


def keeping_lane(parts: LaneParts, route: Route, answering: Answering) -> Lane:
    """The lane of one version of an API of :data:`MAY_BE_KEPT`."""
    metadata, authorizer, may_be_kept = parts.metadata, parts.authorizer, MAY_BE_KEPT[route.api_key]
    kept: dict[Any, KeptAnswer] = {}
    valid_for: tuple[MetadataImage, int] | None = None
    kept_bytes = 0

    def serve(connection: Connection, frame: memoryview) -> bool | Keep:
        nonlocal valid_for, kept_bytes
        if len(frame) > LONGEST_FRAME:
            return False
        image, rules = metadata.image, 0
        key: Any = (bytes(frame[8:]), connection.listener_name)
        if authorizer is not None:
            rules = authorizer.changes
            key = (key, connection.principal, connection.client_host)
        if valid_for is None or valid_for[0] is not image or valid_for[1] != rules:
            kept.clear()
            valid_for, kept_bytes = (image, rules), 0
        known = kept.get(key)
        if known is not None:
            answering.send(connection, [*known.answer.parts(frame)], known.successes, known.failures)
            return True
        began_with = valid_for

        def keep(response: Any, encoded: Sequence[Any]) -> None:
            nonlocal kept_bytes
            if valid_for is not began_with or metadata.image is not image or not may_be_kept(response):
                return
            if getattr(response, "throttle_time_ms", 0):
                return  # the client of this request is over a quota
            whole = only_part(encoded)
            kept_bytes += len(whole) + LONGEST_FRAME
            if kept_bytes > MOST_BYTES:
                kept.clear()
                kept_bytes = len(whole)
            kept[key] = KeptAnswer(whole, *answering.count(response))

        return keep

    return serve
