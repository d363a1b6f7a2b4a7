"""The listener of the console, whose connections a process of its own serves: ``odradek console``.

Shell. Owns: the listening sockets, the process, the line to it. Never does: accepting, serving, reading what a browser
sends. Invariants: nothing but the sockets exists before the first connection; the process ends with the broker, also
if the broker is killed, because it reads the end of the line; if it dies, it is started again by the next connection,
after growing pauses if it dies at once.
"""

import asyncio
import logging
import socket
import subprocess
import sys

from ..config.errors import ConfigError
from ..config.listeners import Listener
from ..config.server_config import ServerConfig
from ..http.hosts import in_url
from ..network.listening import BoundListener, bind
from ..timers.work import KindOfWork
from .broker import Broker
from .console_answers import ConsoleLine
from .console_settings import LISTENER_KEY, ConsoleConfig, process_settings

logger = logging.getLogger(__name__)

CONSOLE = KindOfWork("console", "starts the console's process")
FIRST_PAUSE_S, LONGEST_PAUSE_S = 1.0, 60.0
"""The pauses after a process that died within LONGEST_PAUSE_S, doubled each time."""
STOP_S = 3.0
"""The seconds that the process has to end after its line was closed."""


class ConsoleListener:
    """Listens from its making until `stop`."""

    def __init__(self, config: ServerConfig, console: ConsoleConfig, broker: Broker) -> None:
        """Binds the sockets. Raises BindError."""
        self._config = config
        self._console = console
        self._broker = broker
        self._bound: BoundListener = bind(Listener(LISTENER_KEY, "PLAINTEXT", console.host, console.port))
        self.port = self._bound.port
        """The bound TCP port."""
        self.process: subprocess.Popen[bytes] | None = None
        """The process that serves; None before the first connection."""
        self._line: ConsoleLine | None = None
        self._starting: asyncio.Task[None] | None = None
        self._pause: asyncio.TimerHandle | None = None
        self._pause_s = FIRST_PAUSE_S
        self._is_stopped = False
        scheme = "https" if console.has_tls else "http"
        logger.info("console at %s://%s:%d/", scheme, in_url(console.host), self.port)

    def wait_for_connection(self) -> None:
        """Starts the process at the next connection."""
        self._pause = None
        for one in self._bound.sockets:
            CONSOLE.when_readable(one.fileno(), self._connected)

    def _connected(self) -> None:
        loop = asyncio.get_running_loop()
        for one in self._bound.sockets:
            loop.remove_reader(one.fileno())
        self._starting = CONSOLE.task(self._start(), "its start")

    async def _start(self) -> None:
        """Starts the process, and waits for the next connection if that fails, whatever the reason."""
        began_s = asyncio.get_running_loop().time()
        ours, theirs = socket.socketpair()
        is_open = False
        try:
            settings = await CONSOLE.awaited_on_thread(self._start_process, theirs)
            ours.setblocking(False)
            line = ConsoleLine(self._broker, settings, lambda: self._process_ended(began_s))
            await asyncio.get_running_loop().create_unix_connection(lambda: line, sock=ours)
            self._line, is_open = line, True
            if self._is_stopped:
                line.close()
        except (ConfigError, OSError) as error:
            CONSOLE.failed(f"the console can't be started: {error}")
        finally:
            theirs.close()
            if not is_open:
                ours.close()
                self._wait_again(began_s)

    def _start_process(self, line: socket.socket) -> dict[str, object]:
        """Starts the process, on a thread: key stores are read, and a fork of a large process takes time."""
        settings = process_settings(self._config, self._console, self._bootstrap_server())
        sockets = [one.fileno() for one in self._bound.sockets]
        self.process = subprocess.Popen(
            [sys.executable, "-m", "odradek", "console", "--broker-descriptor", str(line.fileno())],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            pass_fds=[line.fileno(), *sockets],
            start_new_session=True,  # Ctrl-C stops the broker, which ends it
        )
        return {**settings, "sockets": sockets}

    def _bootstrap_server(self) -> str:
        """The address that the broker advertises for the console's listener, as other clients get it; the bound one if
        it advertises none."""
        metadata = self._broker.metadata
        target = self._console.listener
        endpoint = metadata.image.brokers[metadata.node_id].endpoints.get(target.name)
        if endpoint is None:
            return f"{in_url(target.host)}:{target.port}"
        return f"{in_url(endpoint.host)}:{endpoint.port}"

    def _process_ended(self, began_s: float) -> None:
        process = self.process
        self._line = None
        if self._is_stopped or process is None:
            return
        CONSOLE.on_thread(process.wait, STOP_S)
        logger.info("the console's process %d has ended; the next connection starts another one", process.pid)
        self._wait_again(began_s)

    def _wait_again(self, began_s: float) -> None:
        """Waits for the next connection, after a pause if the process did not live for long."""
        if self._is_stopped:
            return
        if asyncio.get_running_loop().time() - began_s > LONGEST_PAUSE_S:
            self._pause_s = FIRST_PAUSE_S
            self.wait_for_connection()
            return
        self._pause = CONSOLE.later(self._pause_s, self.wait_for_connection)
        self._pause_s = min(2 * self._pause_s, LONGEST_PAUSE_S)

    def stop(self) -> None:
        """Closes the sockets and the line; the process ends by itself, and is killed if it does not."""
        if self._is_stopped:
            return
        self._is_stopped = True
        loop = asyncio.get_running_loop()
        for one in self._bound.sockets:
            loop.remove_reader(one.fileno())
        self._bound.close()
        if self._pause is not None:
            self._pause.cancel()
        if self._line is not None:
            self._line.close()

    async def ended(self) -> None:
        """Waits until the process has ended. Call it after :meth:`stop`."""
        if self._starting is not None:
            await self._starting
        if self.process is not None:
            await asyncio.wait((CONSOLE.on_thread(_end, self.process),))


def _end(process: "subprocess.Popen[bytes]") -> None:
    """Waits for a process, and kills it if it does not end."""
    try:
        process.wait(STOP_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
