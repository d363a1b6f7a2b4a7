"""``odradek serve``: runs a broker until SIGTERM or Ctrl-C.

Only what serving needs is imported, and late: see the start-up list in docs/developers/broker-internals.md.
"""

import asyncio
import gc
import json
import logging
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from odradek import __version__
from odradek.protocol.common.lazy_imports import lazy_imports
from odradek.protocol.errors import KafkaError
from odradek.protocol.java.properties import decode_properties
from odradek.storage.errors import CorruptCheckpointError, DirectoryLockedError
from odradek.storage.files.disk_reserve import FULL

from ..config.errors import ConfigError
from ..config.server_config import ServerConfig
from ..config.sources import repeated_keys
from ..dispatch.read_only import ReadOnlyMode
from ..metadata.image.image import MetadataDelta, MetadataImage
from ..metadata.log.log_reader import MetadataLogError
from ..metadata.publisher.published import PublishedMetadata
from ..network.descriptor_limit import TooFewDescriptorsError, descriptor_shares, raise_descriptor_limit
from ..network.listening import BindError
from ..replicas.directories.recovery import RecoveryStopped
from .broker_server import BrokerServer
from .logging_setup import count_lines_on, set_up_logging
from .memory import FullCollections, keep_freed_memory
from .role import StartStopped
from .running_broker import RunningBroker
from .serve_arguments import ServeArguments
from .service_manager import SERVES, STOPS, tell

with lazy_imports:
    from . import first_topics

if TYPE_CHECKING:
    from .first_topics import FirstTopic


# ``--announce-as-kafka``: modules of Testcontainers wait for these lines (docs/docker-and-kubernetes.md).
STARTED = (
    "[KafkaServer id={}] started",
    "[BrokerServer id={}] Transition from STARTING to STARTED",
    "Transitioning from RECOVERY to RUNNING.",
    "Kafka Server started",
    "Creating new log file",
)
"""What Apache's and Confluent's images log when they serve, with the node's id. The last one comes from the ZooKeeper
that ran in Confluent's images; after it the module for Rust sets the address that clients get."""
READDRESSED = "Checking need to trigger auto leader balancing"
"""A line of Kafka's old controller. The module for Rust waits for it after it has set the address."""


def announce(metadata: PublishedMetadata) -> None:
    """Prints that the broker serves, and from now on when its addresses for clients have changed."""
    node_id = metadata.node_id
    for line in STARTED:
        print(line.format(node_id), flush=True)
    endpoints = metadata.image.brokers[node_id].endpoints

    def changed(image: MetadataImage, delta: MetadataDelta) -> Iterator[None]:
        nonlocal endpoints
        if node_id in delta.changed_brokers and image.brokers[node_id].endpoints != endpoints:
            endpoints = image.brokers[node_id].endpoints
            print(READDRESSED, flush=True)
        yield

    metadata.subscribe(changed)


START_ERRORS = (
    BindError,
    ConfigError,
    CorruptCheckpointError,
    DirectoryLockedError,
    KafkaError,
    MetadataLogError,
    OSError,
    TooFewDescriptorsError,
)
"""Errors that prevent a start and that the user can fix. Any other error is a bug and shows its traceback."""
CONSOLE_KEY, CONSOLE_ADDRESS = "odradek.console.listener", "127.0.0.1:8080"
"""The key that ``--console`` sets if it is not set, and the address."""
LOOP_FILES = 12
"""The number of descriptors that an event loop, a listener and a log directory hold open."""


def serve(options: ServeArguments) -> int:
    """Runs the broker. Returns 0 after a clean stop, 1 if it could not start (the reason is on standard error)."""
    try:
        text = None if options.configuration is None else decode_properties(Path(options.configuration).read_bytes())
    except OSError as error:
        return fail(f"can't read {options.configuration}: {error.strerror}")
    try:
        config = ServerConfig.load(text, options.override, os.environ, options.variable)
        if options.console and not config.get_string(CONSOLE_KEY):
            given = [*options.override, f"{CONSOLE_KEY}={CONSOLE_ADDRESS}"]
            config = ServerConfig.load(text, given, os.environ, options.variable)
    except ConfigError as error:
        return fail(str(error))
    try:
        acts = first_acts(options)
    except ConfigError as error:
        return fail(str(error))
    set_up_logging(options.log_level, options.log_format)
    logger = logging.getLogger(__name__)
    for repeated in repeated_keys(text or ""):
        logger.warning("%s: %s", options.configuration, repeated)
    unused = config.keys_without_effect()
    if unused:
        logger.info("these keys of Apache Kafka have no effect in this broker: %s", ", ".join(unused))
    try:
        raise_descriptor_limit()
        descriptor_shares(more=LOOP_FILES)  # raises, before the event loop would fail with less clear words
        with asyncio.Runner(loop_factory=loop_factory()) as runner:
            failure = runner.run(run(config, acts, options.cluster_id))
    except START_ERRORS as error:
        return fail(" ".join([str(error), *ownership_hint(error), *full_disk_hint(error)]))
    return 0 if failure is None else fail(failure)


def _first_topics(texts: Sequence[str], file: str | None) -> "list[FirstTopic]":
    """The topics that the start creates. Raises ConfigError."""
    if not texts and file is None:
        return []
    return [
        *(first_topics.first_topic(text) for text in texts),
        *([] if file is None else first_topics.topics_of_file(file)),
    ]


def loop_factory() -> Callable[[], asyncio.AbstractEventLoop] | None:
    """uvloop's event loop, or None for asyncio's own if uvloop is not available."""
    try:
        import uvloop
    except ImportError:
        return None
    return uvloop.Loop


class FirstActs(NamedTuple):
    """What a broker does when it serves: creates topics, prints lines, writes the ready file."""

    topics: "Sequence[FirstTopic]" = ()
    announces_as_kafka: bool = False
    ready_file: str | None = None


def first_acts(options: ServeArguments) -> FirstActs:
    """The acts that the options ask for, with a place for the ready file. Raises ConfigError."""
    if options.ready_file is not None and not Path(options.ready_file).parent.is_dir():
        raise ConfigError([f"--ready-file {options.ready_file}: its directory does not exist"])
    if options.ready_file is not None:
        remove_stale_ready_file(Path(options.ready_file))
    return FirstActs(_first_topics(options.create_topic, options.topics), options.announce_as_kafka, options.ready_file)


async def run(
    config: ServerConfig, acts: FirstActs, cluster_id: str | None, read_only: ReadOnlyMode | None = None
) -> str | None:
    """Starts a broker, waits for one of :func:`stop_signals`, and stops it.

    Returns why it ended by itself, otherwise None.
    """
    ready_file = acts.ready_file
    keep_freed_memory()
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    count_lines_on(loop)
    server = BrokerServer(config, cluster_id, stop.set, read_only)

    def stop_requested() -> None:
        stop.set()
        server.stop_start()

    for number in stop_signals():
        loop.add_signal_handler(number, stop_requested)
    # The image's entry point blocks these signals until here: without a handler, process 1 would lose them.
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM, signal.SIGINT})
    try:
        running = await server.start()
    except RecoveryStopped:
        return None  # the recovery has logged its progress itself
    except StartStopped:
        logging.getLogger(__name__).info("stopped before it had joined its cluster")
        return None
    collections = FullCollections(lambda: time.thread_time_ns() / 1e6)
    collections.start()
    gc.enable()  # serve_options has disabled it
    try:
        if acts.topics:
            from .first_topics import create_first_topics

            await create_first_topics(running.broker, acts.topics)
    except BaseException:
        await server.stop()
        raise
    say_that_it_serves(server, running)
    if acts.announces_as_kafka:
        announce(running.broker.metadata)
    try:
        if ready_file is not None:
            write_ready_file(Path(ready_file), running)  # last: its readers find the lines in the log
        tell(SERVES)
        await stop.wait()
    finally:
        tell(STOPS)
        await server.stop()
        collections.stop()
        if ready_file is not None:
            remove_ready_file(Path(ready_file))
    if server.failure is None:
        logging.getLogger(__name__).info("stopped cleanly")
    return server.failure


def stop_signals() -> list[signal.Signals]:
    """Signals that stop a broker cleanly, as they stop a JVM.

    SIGHUP comes when the terminal is closed. It is left out if it is ignored, which is what nohup does.
    """
    hangs_up = signal.getsignal(signal.SIGHUP) != signal.SIG_IGN
    return [signal.SIGTERM, signal.SIGINT, *([signal.SIGHUP] if hangs_up else [])]


def say_that_it_serves(server: BrokerServer, running: RunningBroker) -> None:
    """Prints the bound addresses, those that clients are told if they are others, and the directories."""
    bound = [
        f"{listener.listener.name}://{bracketed(listener.listener.host)}:{listener.port}"
        for listener in server.listeners
    ]
    advertised = [f"{listener.name}://{bracketed(listener.host)}:{listener.port}" for listener in running.advertised]
    told = "" if set(advertised) <= set(bound) else f", advertises {', '.join(advertised)}"
    data = ", ".join(str(path.resolve()) for path in running.data_directories)
    print(
        f"odradek {__version__} listens on {', '.join(bound)}{told}, data in {data}; Ctrl-C or SIGTERM stops it",
        flush=True,
    )


def ownership_hint(error: BaseException) -> Iterator[str]:
    """A hint for a directory of another user, such as a volume made by root: its owner and the command to fix it."""
    cause: BaseException | None = error
    while cause is not None and not isinstance(cause, PermissionError):
        cause = cause.__cause__
    if cause is None or not isinstance(cause.filename, str | Path):
        return
    path = Path(cause.filename)
    while not os.access(path, os.F_OK) and path != path.parent:
        path = path.parent
    owner = path.stat()
    yield (
        f"(This process is uid {os.geteuid()} with gid {os.getegid()}; {path} belongs to uid {owner.st_uid} and gid "
        f"{owner.st_gid} with mode {owner.st_mode & 0o7777:o}. As root, `chown -R {os.geteuid()} {path}` fixes it.)"
    )


def full_disk_hint(error: BaseException) -> Iterator[str]:
    """A hint for a start without the few bytes of disk space that it needs: how to free some."""
    cause: BaseException | None = error
    while cause is not None and not (isinstance(cause, OSError) and cause.errno in FULL):
        cause = cause.__cause__
    if cause is not None:
        yield (
            "(The file system is full, and this log directory has no reserve left from an earlier start. A start needs"
            " a few hundred KiB: remove or move away any other file of that file system, then start again;"
            " docs/operating.md#a-full-disk.)"
        )


def write_ready_file(path: Path, running: RunningBroker) -> None:
    """Writes the bound addresses atomically: a reader never sees a partial file."""
    advertised = running.advertised
    facts = {
        "bootstrap_servers": f"{bracketed(advertised[0].host)}:{advertised[0].port}",
        "cluster_id": running.broker.metadata.cluster_id,
        "listeners": {e.name: {"host": e.host, "port": e.port} for e in advertised},
        "log_dirs": [str(directory.resolve()) for directory in running.data_directories],
        "node_id": running.broker.metadata.node_id,
        "pid": os.getpid(),
    }
    unfinished = path.with_name(path.name + ".tmp")
    unfinished.write_text(json.dumps(facts, indent=1) + "\n")
    unfinished.replace(path)


def remove_stale_ready_file(path: Path) -> None:
    """Removes the ready file of a broker that was killed: a script would take its address while this one starts.

    The file of a broker that runs stays, because this start may be refused.
    """
    try:
        pid = json.loads(path.read_text())["pid"]
        if pid != os.getpid():  # in a container each broker is process 1
            os.kill(pid, 0)
            return
    except ProcessLookupError:
        pass
    except (OSError, ValueError, LookupError, TypeError):
        return  # no file, not one of ours, or a process of another user
    path.unlink(missing_ok=True)


def remove_ready_file(path: Path) -> None:
    """Removes the ready file, because the broker does not serve any more."""
    path.unlink(missing_ok=True)


def bracketed(host: str) -> str:
    """An IPv6 address in brackets, anything else as it is."""
    return f"[{host}]" if ":" in host else host


def fail(reason: str) -> int:
    """Prints why it cannot start. Returns the exit code."""
    print(f"odradek serve: {reason}", file=sys.stderr)
    return 1
