"""The checks between values that are valid by themselves.

Source: KafkaConfig.validateValues, LogConfig.validateValues, GroupCoordinatorConfig, ShareGroupConfig.
"""

import re
from collections.abc import Iterator, Sequence

from .connection_limits import bad_listener_limits
from .typed_values import TypedValues

MINUTE_MS = 60 * 1000
HOUR_MS = 60 * MINUTE_MS
RACK_AWARE_SELECTOR = "org.apache.kafka.common.replica.RackAwareReplicaSelector"
"""The only ``replica.selector.class`` that is part of Kafka (KIP-392)."""


def log_retention_ms(config: TypedValues) -> int:
    """``log.retention.ms``, else ``.minutes``, else ``.hours``, in ms; any negative value is -1, no limit."""
    value = config["log.retention.ms"]
    if value is None:
        minutes = config["log.retention.minutes"]
        value = config.get_int("log.retention.hours") * HOUR_MS if minutes is None else minutes * MINUTE_MS
    return -1 if value < 0 else int(value)


def log_roll_ms(config: TypedValues) -> int:
    """``log.roll.ms``, else ``log.roll.hours``, in milliseconds."""
    value = config["log.roll.ms"]
    return config.get_int("log.roll.hours") * HOUR_MS if value is None else int(value)


def log_roll_jitter_ms(config: TypedValues) -> int:
    """``log.roll.jitter.ms``, else ``log.roll.jitter.hours``, in milliseconds."""
    value = config["log.roll.jitter.ms"]
    return config.get_int("log.roll.jitter.hours") * HOUR_MS if value is None else int(value)


def log_flush_ms(config: TypedValues) -> int:
    """``log.flush.interval.ms``, else ``log.flush.scheduler.interval.ms``, in milliseconds."""
    value = config["log.flush.interval.ms"]
    return config.get_int("log.flush.scheduler.interval.ms") if value is None else int(value)


def cordoned_entries(entries: Sequence[str], log_dirs: Sequence[str]) -> Iterator[str]:
    """A sentence if ``cordoned.log.dirs`` names a path that is not a log directory. ``*`` alone means all of them."""
    missing = [entry for entry in entries if entry not in log_dirs]
    if missing and list(entries) != ["*"]:
        yield (
            "All entries in cordoned.log.dirs must be present in log.dirs or log.dir. Missing entries : "
            f"{', '.join(missing)}"
        )


def _replica_selector(config: TypedValues) -> Iterator[str]:
    name = config["replica.selector.class"]
    if name not in (None, RACK_AWARE_SELECTOR):
        yield (
            f"replica.selector.class: {name} is not supported. Set {RACK_AWARE_SELECTOR}, or leave the key unset: then"
            " consumers read from leaders"
        )


def single_values(config: TypedValues) -> Iterator[str]:
    """A sentence for each pair of contradictory values, except those of listeners."""
    if config["node.id"] != config["broker.id"]:
        yield "You must set `node.id` to the same value as `broker.id`."
    yield from cordoned_entries(config.get_list("cordoned.log.dirs"), config.log_dirs)
    yield from _logs(config)
    yield from _groups(config)
    yield from _connections(config)
    yield from _replica_selector(config)
    if config.get_boolean("odradek.telemetry.enable") and not config.get_string("odradek.metrics.listener"):
        yield "odradek.telemetry.enable needs odradek.metrics.listener, which shows the metrics that clients push."
    if config.get_list("config.providers"):
        yield (
            "config.providers: providers of values are not supported; "
            "put the values into the file, the environment or --override"
        )


def _logs(config: TypedValues) -> Iterator[str]:
    if log_roll_ms(config) < 1:
        yield "log.roll.ms must be greater than or equal to 1"
    if log_roll_jitter_ms(config) < 0:
        yield "log.roll.jitter.ms must be greater than or equal to 0"
    if log_retention_ms(config) == 0:
        yield "log.retention.ms must be unlimited (-1) or, greater than or equal to 1"
    minimum, maximum = config["log.cleaner.min.compaction.lag.ms"], config["log.cleaner.max.compaction.lag.ms"]
    if minimum > maximum:
        yield (
            f"conflict topic config setting min.compaction.lag.ms ({minimum}) > max.compaction.lag.ms ({maximum}): "
            "log.cleaner.min.compaction.lag.ms, log.cleaner.max.compaction.lag.ms"
        )
    threads = config.get_int("log.cleaner.threads")
    if threads and config.get_int("log.cleaner.dedupe.buffer.size") // threads <= 1024 * 1024:
        yield "log.cleaner.dedupe.buffer.size must be at least 1MB per cleaner thread."
    if config.get_int("replica.fetch.wait.max.ms") > config.get_int("replica.socket.timeout.ms"):
        yield (
            "replica.socket.timeout.ms should always be at least replica.fetch.wait.max.ms "
            "to prevent unnecessary socket timeouts"
        )
    if config.get_int("replica.fetch.wait.max.ms") > config.get_int("replica.lag.time.max.ms"):
        yield (
            "replica.fetch.wait.max.ms should always be less than or equal to replica.lag.time.max.ms "
            "to prevent frequent changes in ISR"
        )


_BOUNDED = (
    ("consumer", ("heartbeat.interval.ms", "session.timeout.ms", "assignment.interval.ms")),
    (
        "share",
        (
            "heartbeat.interval.ms",
            "session.timeout.ms",
            "assignment.interval.ms",
            "record.lock.duration.ms",
            "delivery.count.limit",
            "partition.max.record.locks",
        ),
    ),
    ("streams", ("heartbeat.interval.ms", "session.timeout.ms", "assignment.interval.ms")),
)
"""The settings of each kind of group that must lie between their keys with ``min.`` and ``max.``."""


def _groups(config: TypedValues) -> Iterator[str]:
    """GroupCoordinatorConfig's and ShareGroupConfig's own checks."""
    if "classic" not in config.get_list("group.coordinator.rebalance.protocols"):
        yield "Disabling the 'classic' protocol is not supported."
    for kind, bounded in _BOUNDED:
        for what in bounded:
            key, low, high = (f"group.{kind}.{bound}{what}" for bound in ("", "min.", "max."))
            if config.get_int(high) < config.get_int(low):
                yield f"{high} must be greater than or equal to {low}"
            if config.get_int(key) < config.get_int(low):
                yield f"{key} must be greater than or equal to {low}"
            if config.get_int(key) > config.get_int(high):
                yield f"{key} must be less than or equal to {high}"
        heartbeat, session = f"group.{kind}.heartbeat.interval.ms", f"group.{kind}.session.timeout.ms"
        if config.get_int(heartbeat) >= config.get_int(session):
            yield f"{heartbeat} must be less than {session}"
    if config.get_int("group.streams.num.standby.replicas") > config.get_int("group.streams.max.standby.replicas"):
        yield "group.streams.num.standby.replicas must be less than or equal to group.streams.max.standby.replicas"
    interval, least = "group.streams.task.offset.interval.ms", "group.streams.min.task.offset.interval.ms"
    if config.get_int(interval) < config.get_int(least):
        yield f"{interval} must be greater than or equal to {least}"
    if config.get_int("group.streams.num.warmup.replicas") > config.get_int("group.streams.max.warmup.replicas"):
        yield "group.streams.num.warmup.replicas must be less than or equal to group.streams.max.warmup.replicas"
    if (assignors := len(config.get_list("group.share.assignors"))) != 1:
        yield f"group.share.assignors must contain exactly one assignor, but found {assignors}"


def _overrides(text: str) -> Iterator[str]:
    """``max.connections.per.ip.overrides``: address:number, ..."""
    for entry in filter(None, (part.strip() for part in text.split(","))):
        address, colon, number = (part.strip() for part in entry.rpartition(":"))
        if not colon or not re.fullmatch(r"[+-]?[0-9]{1,10}", number):
            yield f"max.connections.per.ip.overrides: '{entry}' is not of the form address:number"
        elif not re.fullmatch(r"[0-9a-zA-Z\-%._:]*", address):
            yield f"max.connections.per.ip.overrides contains invalid addresses : {address}"


def _connections(config: TypedValues) -> Iterator[str]:
    queued, largest = config.get_int("queued.max.request.bytes"), config.get_int("socket.request.max.bytes")
    if 0 < queued < largest:
        yield "queued.max.request.bytes must be larger or equal to socket.request.max.bytes"
    if config["max.connections.per.ip"] == 0 and not config["max.connections.per.ip.overrides"]:
        yield "max.connections.per.ip can be set to zero only if max.connections.per.ip.overrides property is set."
    yield from _overrides(config["max.connections.per.ip.overrides"])
    yield from bad_listener_limits(config)
    idle, delay = config.get_int("connections.max.idle.ms"), config.get_int("connection.failed.authentication.delay.ms")
    if idle >= 0 and delay >= idle:
        yield (
            f"connection.failed.authentication.delay.ms={delay} should always be less than "
            f"connections.max.idle.ms={idle} to prevent failed authentication responses from timing out"
        )
