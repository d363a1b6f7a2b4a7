"""The routes of the admin port: each method and path with the function that serves it.

Owns: the table. Never does: HTTP, or anything that :class:`InProcessBroker` can't do. Invariant: a function gets the
control and the arguments, and returns a value that is sent as JSON. A function may block: each connection has a thread.
"""

from collections.abc import Callable
from urllib.parse import unquote

from odradek.broker.config.errors import ConfigError
from odradek.client.errors import BrokerConnectionError, RequestTimedOutError
from odradek.protocol.errors import ErrorCode, KafkaError, ProtocolError

from ..broker.in_process import InProcessBroker
from ..fixtures.marked_topic import marked_topic
from ..inspection import TIMEOUT_S
from ..traffic.recording import RecordingFullError
from .controlled_broker import is_out_of_reach
from .kept_faults import KeptFaults
from .kept_recording import KeptRecording
from .values import AdminPortError, Arguments, Json, by_partition, content, group_as, place_as, record_as, topic_as

SPANS = ("days", "hours", "minutes", "seconds", "milliseconds")
NEED_NO_BROKER = ("/", "/start", "/stop", "/restart", "/kill", "/resume", "/reset", "/disk", "/faults", "/recording")
"""Paths that are also served while the broker does not run, with all paths below them."""


class AdminControl:
    """The broker that the admin port controls, its faults and its recording."""

    def __init__(self, broker: InProcessBroker, bootstrap_servers: Callable[[], str]) -> None:
        """``bootstrap_servers`` returns the address for clients."""
        self.broker = broker
        self.faults = KeptFaults(broker.faults)
        self.recording = KeptRecording(broker)
        self.bootstrap_servers = bootstrap_servers


Action = Callable[[AdminControl, Arguments], Json]


def state(control: AdminControl, _: Arguments) -> Json:
    """GET /: the address for clients, and whether the broker runs, is paused, has a full disk."""
    broker = control.broker
    return {
        "bootstrap_servers": control.bootstrap_servers(),
        "is_running": broker.is_running,
        "is_paused": broker.is_paused,
        "disk_is_full": broker.disk_is_full,
    }


def reset(control: AdminControl, arguments: Arguments) -> Json:
    """POST /reset: makes a new, empty broker on the same port, with ``configs`` and ``topics`` if they are given."""
    configs = arguments.get("configs", dict)
    for key in configs or {}:
        if is_out_of_reach(key):
            raise AdminPortError(
                400, f"configs: {key!r:.100} can't be set over the admin port; start the broker with it"
            )
    topics = [marked_topic(text) for text in arguments.names("topics")]
    arguments.refuse_others()
    control.faults.clear()
    control.broker.reset(configs)
    for topic in topics:
        control.broker.create_topic(topic.name, topic.partitions, configs=topic.configs)
    return state(control, arguments)


def start(control: AdminControl, arguments: Arguments) -> Json:
    """POST /start: starts the broker; does nothing if it runs."""
    if not control.broker.is_running:
        control.broker.start()
    return state(control, arguments)


def stop(control: AdminControl, arguments: Arguments) -> Json:
    """POST /stop: stops the broker cleanly, as SIGTERM does."""
    control.broker.stop()
    return state(control, arguments)


def restart(control: AdminControl, arguments: Arguments) -> Json:
    """POST /restart: stops the broker cleanly and starts it; the data stays."""
    control.broker.restart()
    return state(control, arguments)


def kill(control: AdminControl, arguments: Arguments) -> Json:
    """POST /kill: ends the broker as a crash does; the data stays."""
    control.broker.kill()
    return state(control, arguments)


def pause(control: AdminControl, arguments: Arguments) -> Json:
    """POST /pause: freezes the broker, as SIGSTOP does."""
    control.broker.pause()
    return state(control, arguments)


def resume(control: AdminControl, arguments: Arguments) -> Json:
    """POST /resume: lets a paused broker continue, as SIGCONT does."""
    control.broker.resume()
    return state(control, arguments)


def advance(control: AdminControl, arguments: Arguments) -> Json:
    """POST /advance: sets the clock forward by ``days``, ``hours``, ``minutes``, ``seconds``, ``milliseconds``."""
    span = {name: arguments.get(name, float, 0.0) for name in SPANS}
    arguments.refuse_others()
    control.broker.advance(**span)
    return {}


def apply_retention(control: AdminControl, _: Arguments) -> Json:
    """POST /apply-retention: deletes now what the next retention check would delete."""
    control.broker.apply_retention()
    return {}


def compact(control: AdminControl, arguments: Arguments) -> Json:
    """POST /compact: compacts ``topic``, or all compacted topics."""
    control.broker.compact(arguments.get("topic", str))
    return {}


def set_disk(control: AdminControl, arguments: Arguments) -> Json:
    """PUT /disk: with ``is_full`` true, the broker behaves as on a full disk until it is set to false."""
    control.broker.disk_is_full = arguments.need("is_full", bool)
    return state(control, arguments)


def list_topics(control: AdminControl, _: Arguments) -> Json:
    """GET /topics: the names of all topics but internal ones."""
    return control.broker.topics()


def create_topic(control: AdminControl, arguments: Arguments) -> Json:
    """POST /topics: creates ``name`` with ``partitions`` (1) and ``configs``."""
    name, partitions = arguments.need("name", str), arguments.get("partitions", int, 1)
    configs = arguments.get("configs", dict)
    arguments.refuse_others()
    return topic_as(control.broker.create_topic(name, partitions, configs=configs))


def show_topic(control: AdminControl, arguments: Arguments) -> Json:
    """GET /topics/{topic}: its id, its partitions with leaders and replicas."""
    return topic_as(control.broker.topic(arguments.need("topic", str)))


def delete_topic(control: AdminControl, arguments: Arguments) -> Json:
    """DELETE /topics/{topic}."""
    control.broker.delete_topic(arguments.need("topic", str))
    return {}


def produce(control: AdminControl, arguments: Arguments) -> Json:
    """POST /topics/{topic}/records: writes ``records``, a list of objects with ``value`` and optionally ``key``,
    ``partition``, ``headers``, ``timestamp_ms``. Returns the partition and the offset of each.
    """
    topic, records = arguments.need("topic", str), arguments.need("records", list)
    arguments.refuse_others()
    places = []
    for record in records:
        if not isinstance(record, dict):
            raise AdminPortError(400, "each of records must be an object")
        one = Arguments(record)
        partition, timestamp_ms = one.get("partition", int), one.get("timestamp_ms", int)
        headers = one.get("headers", dict, {})
        key, value = content(record, "key"), content(record, "value")
        for name in ("key", "value"):
            one.get(name, (str, dict))
        one.refuse_others()
        places += control.broker.produce(
            topic,
            value,
            key=key,
            partition=partition,
            timestamp_ms=timestamp_ms,
            headers={name: content(headers, name) or b"" for name in headers},
        )
    return [place_as(place) for place in places]


def records(control: AdminControl, arguments: Arguments) -> Json:
    """GET /topics/{topic}/records: all records of the topic. With ``count``: waits until there are that many, and
    returns the first ``count``; fails after ``timeout_s``.

    ``partition`` and ``isolation_level`` restrict the records.
    """
    topic, count = arguments.need("topic", str), arguments.get("count", int)
    partition = arguments.get("partition", int)
    level = arguments.get("isolation_level", str, "read_uncommitted")
    timeout_s = arguments.get("timeout_s", float, TIMEOUT_S)
    arguments.refuse_others()
    if level not in ("read_uncommitted", "read_committed"):
        raise AdminPortError(400, f"isolation_level must be read_uncommitted or read_committed, not {level!r:.100}")
    if count is None:
        found = control.broker.records(topic, partition=partition, isolation_level=level)
    else:
        found = control.broker.consume(topic, count, partition=partition, isolation_level=level, timeout_s=timeout_s)
    return [record_as(record) for record in found]


def show_group(control: AdminControl, arguments: Arguments) -> Json:
    """GET /groups/{group}: its state and members. With ``wait=stable``: first waits until the group is stable; with
    ``members``: until it is stable with that many members. The wait fails after ``timeout_s``.
    """
    group, members = arguments.need("group", str), arguments.get("members", int)
    wait, timeout_s = arguments.get("wait", str), arguments.get("timeout_s", float, TIMEOUT_S)
    arguments.refuse_others()
    if wait not in (None, "stable"):
        raise AdminPortError(400, f"wait must be stable, not {wait!r:.100}")
    if wait is None and members is None:
        return group_as(control.broker.describe_group(group))
    return group_as(control.broker.wait_group_stable(group, members, timeout_s=timeout_s))


def committed(control: AdminControl, arguments: Arguments) -> Json:
    """GET /groups/{group}/offsets: the offsets that the group has committed."""
    return by_partition(control.broker.committed(arguments.need("group", str)), "offset")


def lag(control: AdminControl, arguments: Arguments) -> Json:
    """GET /groups/{group}/lag: the number of records from its committed offset to the end, of each partition.

    ``topics``: counts all their partitions, also those without a committed offset (from their start). With
    ``wait=consumed``: first waits until the lag is 0 everywhere; the wait fails after ``timeout_s``.
    """
    group, topics = arguments.need("group", str), arguments.names("topics")
    wait, timeout_s = arguments.get("wait", str), arguments.get("timeout_s", float, TIMEOUT_S)
    arguments.refuse_others()
    if wait not in (None, "consumed"):
        raise AdminPortError(400, f"wait must be consumed, not {wait!r:.100}")
    if wait is not None:
        control.broker.wait_until_consumed(group, *topics, timeout_s=timeout_s)
    return by_partition(control.broker.lag(group, topics), "lag")


def list_faults(control: AdminControl, _: Arguments) -> Json:
    """GET /faults: all faults, each with the number of requests that it has met."""
    return control.faults.show_all()


def add_fault(control: AdminControl, arguments: Arguments) -> Json:
    """POST /faults: adds a fault of the kind ``fault``; returns it with its id."""
    added = control.faults.add(arguments)
    try:
        arguments.refuse_others()
    except AdminPortError:
        control.faults.remove(added["id"])
        raise
    return added


def show_fault(control: AdminControl, arguments: Arguments) -> Json:
    """GET /faults/{id}: a fault. With ``fired``: first waits until it has met that many requests; with ``held``: until
    it holds that many answers. The wait fails after ``timeout_s``.
    """
    number, fired, held = arguments.need("id", int), arguments.get("fired", int), arguments.get("held", int)
    timeout_s = arguments.get("timeout_s", float, TIMEOUT_S)
    arguments.refuse_others()
    if fired is not None:
        control.faults.find(number).wait_until_fired(fired, timeout_s)
    if held is not None:
        control.faults.hold(number).wait_until_held(held, timeout_s)
    return control.faults.show(number)


def release_fault(control: AdminControl, arguments: Arguments) -> Json:
    """POST /faults/{id}/release: sends the answers that the fault holds."""
    return control.faults.release(arguments.need("id", int))


def remove_fault(control: AdminControl, arguments: Arguments) -> Json:
    """DELETE /faults/{id}: ends the fault and forgets it."""
    control.faults.remove(arguments.need("id", int))
    return {}


def clear_faults(control: AdminControl, _: Arguments) -> Json:
    """DELETE /faults: ends all faults and forgets them."""
    control.faults.clear()
    return {}


def begin_recording(control: AdminControl, arguments: Arguments) -> Json:
    """POST /recording: begins to record requests and answers, up to ``max_bytes``."""
    return control.recording.begin(arguments)


def show_recording(control: AdminControl, arguments: Arguments) -> Json:
    """GET /recording: the requests, each with its answer."""
    return control.recording.show(arguments)


def recording_lines(control: AdminControl, _: Arguments) -> Json:
    """GET /recording/file: the recording as JSON lines."""
    return control.recording.lines()


def end_recording(control: AdminControl, _: Arguments) -> Json:
    """DELETE /recording: ends the recording; it can still be read."""
    return control.recording.end()


def replay(control: AdminControl, arguments: Arguments) -> Json:
    """POST /replay: sends the requests of a recording again, and compares the answers."""
    return control.recording.replay(arguments)


ROUTES: dict[tuple[str, str], Action] = {
    ("GET", "/"): state,
    ("POST", "/reset"): reset,
    ("POST", "/start"): start,
    ("POST", "/stop"): stop,
    ("POST", "/restart"): restart,
    ("POST", "/kill"): kill,
    ("POST", "/pause"): pause,
    ("POST", "/resume"): resume,
    ("POST", "/advance"): advance,
    ("POST", "/apply-retention"): apply_retention,
    ("POST", "/compact"): compact,
    ("PUT", "/disk"): set_disk,
    ("GET", "/topics"): list_topics,
    ("POST", "/topics"): create_topic,
    ("GET", "/topics/{topic}"): show_topic,
    ("DELETE", "/topics/{topic}"): delete_topic,
    ("POST", "/topics/{topic}/records"): produce,
    ("GET", "/topics/{topic}/records"): records,
    ("GET", "/groups/{group}"): show_group,
    ("GET", "/groups/{group}/offsets"): committed,
    ("GET", "/groups/{group}/lag"): lag,
    ("GET", "/faults"): list_faults,
    ("POST", "/faults"): add_fault,
    ("DELETE", "/faults"): clear_faults,
    ("GET", "/faults/{id}"): show_fault,
    ("DELETE", "/faults/{id}"): remove_fault,
    ("POST", "/faults/{id}/release"): release_fault,
    ("GET", "/recording"): show_recording,
    ("POST", "/recording"): begin_recording,
    ("DELETE", "/recording"): end_recording,
    ("GET", "/recording/file"): recording_lines,
    ("POST", "/replay"): replay,
}
"""(method, path) -> the function that serves it. ``{name}`` matches one part of the path and becomes an argument."""


def check_running(control: AdminControl, path: str) -> None:
    """Raises AdminPortError (409) if the path needs a running broker and the broker does not run."""
    is_needed = not any(path == prefix or path.startswith(f"{prefix}/") for prefix in NEED_NO_BROKER)
    if is_needed and not control.broker.is_running:
        raise AdminPortError(409, "the broker is not running; POST /start starts it")


def find(method: str, path: str) -> tuple[Action, dict[str, str]]:
    """The function for a request, and the arguments in its path (percent-decoded). Raises AdminPortError: 404, 405."""
    parts = path.strip("/").split("/")
    allowed = []
    for (served, template), action in ROUTES.items():
        named = template.strip("/").split("/")
        if len(named) != len(parts):
            continue
        pairs = list(zip(named, parts, strict=True))
        if all(name == part or (name.startswith("{") and part) for name, part in pairs):
            if served == method:
                return action, {name[1:-1]: unquote(part) for name, part in pairs if name.startswith("{")}
            allowed.append(served)
    if allowed:
        raise AdminPortError(405, f"{path} supports {', '.join(allowed)}, not {method}")
    raise AdminPortError(
        404, f"{path} does not exist; the paths are: {', '.join(sorted({route for _, route in ROUTES}))}"
    )


def refusal(error: Exception) -> AdminPortError | None:
    """The HTTP status and message for an expected error; None for any other, which is a bug."""
    if isinstance(error, AdminPortError):
        return error
    if isinstance(error, TimeoutError):
        return AdminPortError(408, str(error))
    if isinstance(error, BrokerConnectionError | RequestTimedOutError):
        return AdminPortError(408, f"the broker does not answer; GET / says whether it is paused: {error}")
    if isinstance(error, KafkaError):
        missing = error.error_code in (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.GROUP_ID_NOT_FOUND)
        return AdminPortError(404 if missing else 422, str(error))
    if isinstance(error, RecordingFullError):
        return AdminPortError(409, str(error))
    if isinstance(error, OverflowError):
        return AdminPortError(400, f"a number is too large: {error}")
    if isinstance(error, ValueError | TypeError | ConfigError | ProtocolError):  # Protocol: a text that can't be sent
        return AdminPortError(400, str(error))
    return None
