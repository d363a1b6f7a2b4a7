"""The lanes of a broker, by API. A lane is imported when its API is requested first."""

from collections.abc import Callable
from importlib import import_module

from odradek.protocol.apis.api_keys import ApiKey

from ..dispatch.lane import Answering
from ..dispatch.route import Lane, Route
from .parts import LaneParts

MakeLane = Callable[[LaneParts, Route, Answering], Lane | None]

LANES: dict[int, tuple[str, str]] = {
    ApiKey.PRODUCE: ("produce", "produce_lane"),
    ApiKey.FETCH: ("fetch", "fetch_lane"),
    ApiKey.LIST_OFFSETS: ("list_offsets", "list_offsets_lane"),
    ApiKey.METADATA: ("kept_answers", "keeping_lane"),
    ApiKey.FIND_COORDINATOR: ("kept_answers", "keeping_lane"),
    ApiKey.DESCRIBE_CLUSTER: ("kept_answers", "keeping_lane"),
    ApiKey.OFFSET_COMMIT: ("offset_commit", "offset_commit_lane"),
    ApiKey.HEARTBEAT: ("heartbeat", "heartbeat_lane"),
    ApiKey.CONSUMER_GROUP_HEARTBEAT: ("consumer_group_heartbeat", "consumer_group_heartbeat_lane"),
    ApiKey.API_VERSIONS: ("api_versions", "api_versions_lane"),
}
"""API key -> module and function that make its lanes."""


class BrokerLanes:
    """Makes the lanes of one broker."""

    def __init__(self, parts: LaneParts) -> None:
        self._parts = parts

    def lane_of(self, route: Route, answering: Answering, *, is_charged: bool) -> Lane | None:
        """The lane of one version of an API; None if there is none. ``is_charged``: whether clients have quotas."""
        place = LANES.get(route.api_key)
        if place is None or (is_charged and route.api_key == ApiKey.FETCH):  # a quota decides what a Fetch reads
            return None
        make: MakeLane = getattr(import_module(f".{place[0]}", __package__), place[1])
        return make(self._parts, route, answering)
