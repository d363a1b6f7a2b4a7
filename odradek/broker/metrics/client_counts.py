"""Counts what happens to the metrics that clients push. Pure. Source: ``ClientMetricsManager.ClientMetricsStats``."""


class ClientMetricsCounts:
    """Counts since the start."""

    __slots__ = ("dropped", "errors", "exports", "throttled", "unknown_subscriptions")

    def __init__(self) -> None:
        self.unknown_subscriptions = 0
        """Pushes with the id of another subscription."""
        self.throttled = 0
        """Requests that came before the interval was over."""
        self.exports = 0
        """Pushes that were read."""
        self.errors = 0
        """Pushes that could not be read."""
        self.dropped = {"client": 0, "total": 0, "invalid": 0}
        """Points that are not shown, by reason: the client has too many series, all clients together have, or name or
        attributes can't be shown."""
