"""``odradek test-broker``: runs a broker for tests in any language, with an HTTP port that controls it."""

import json
import logging
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from odradek.broker.config.errors import ConfigError
from odradek.broker.network.listening import BindError
from odradek.broker.server.commands import stop_signals
from odradek.protocol.errors import KafkaError

from ..fixtures.marked_topic import marked_topic
from .controlled_broker import ControlledBroker
from .options import TestBrokerArguments
from .routes import AdminControl
from .server import AdminServer

START_ERRORS = (BindError, ConfigError, KafkaError, OSError)


def run_test_broker(options: TestBrokerArguments) -> int:
    """Runs the broker until SIGTERM or Ctrl-C. Returns 0, or 1 if it could not start (it prints the reason)."""
    logging.basicConfig(level=logging.WARNING, format="%(levelname)s %(name)s: %(message)s")
    try:
        configs = dict(_config(override) for override in options.override)
        topics = [marked_topic(topic) for topic in options.create_topic]
        broker = ControlledBroker(options.host, options.port, options.advertised_host, configs)
        admin = AdminServer(options.host, options.admin_port, AdminControl(broker, lambda: broker.advertised))
    except (ConfigError, ValueError) as error:
        return _fail(str(error))
    except OSError as error:
        return _fail(f"--admin-port {options.admin_port} can't be bound: {error.strerror}")
    if options.ready_file:
        Path(options.ready_file).unlink(missing_ok=True)  # of a broker that was killed
    try:
        with _signalled() as stopped, broker:
            for topic in topics:
                broker.create_topic(topic.name, topic.partitions, configs=topic.configs)
            admin.start()
            _say(options, broker.advertised, admin.port)
            stopped.wait()
    except START_ERRORS as error:
        return _fail(str(error))
    finally:
        if options.ready_file:
            Path(options.ready_file).unlink(missing_ok=True)
    admin.stop()
    return 0


@contextmanager
def _signalled() -> Iterator[threading.Event]:
    """Yields an event that the stop signals set; restores the earlier signal handlers at the end of the block."""
    event = threading.Event()
    earlier = {number: signal.signal(number, lambda *_: event.set()) for number in stop_signals()}
    try:
        yield event
    finally:
        for number, handler in earlier.items():
            signal.signal(number, handler)


def _config(text: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    if not equals or not key.strip():
        raise ValueError(f"--override {text}: must be KEY=VALUE")
    return key.strip(), value.strip()


def _say(options: TestBrokerArguments, bootstrap_servers: str, admin_port: int) -> None:
    admin = f"http://{options.host}:{admin_port}"
    if options.ready_file:
        ready = Path(options.ready_file)
        written = ready.with_name(ready.name + ".tmp")
        written.write_text(json.dumps({"bootstrap_servers": bootstrap_servers, "admin": admin}) + "\n")
        written.replace(ready)
    print(f"Kafka clients: {bootstrap_servers}; tests: {admin}; Ctrl-C or SIGTERM stops it", flush=True)


def _fail(reason: str) -> int:
    print(f"odradek test-broker: {reason}", file=sys.stderr)
    return 1
