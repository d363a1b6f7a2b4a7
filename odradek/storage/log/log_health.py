"""Whether a log can be used, and whether clients may append to it.

Owns: the failure that ended the log, and the append gate of its directory. Never does: I/O, checking the disk (the
broker's disk watch does). Invariants: after a failed sync the log stays unusable until it is opened again. A closed
gate refuses only clients' records; offset commits, metadata and deletions always pass. Source: Kafka's
UnifiedLog.checkIfMemoryMappedBufferClosed and LogDirFailureChannel. The gate is our own: Kafka takes the directory
offline when its disk is full.
"""

from collections.abc import Callable
from pathlib import Path

from ..errors import StorageError
from ..files.disk_errors import ends_directory, text_of
from .append_plan import AppendOrigin


class AppendGate:
    """Open if `refusal` is None. Otherwise `refusal` is the message that producers get with KAFKA_STORAGE_ERROR.

    `is_low`: free space is low, so other directories are preferred for new partitions.
    """

    __slots__ = ("is_low", "refusal")

    def __init__(self) -> None:
        self.refusal: str | None = None
        self.is_low = False

    @property
    def shortage(self) -> int:
        """0 with enough free space, 1 with little, 2 with none. New partitions go to the directory with the lowest."""
        return 2 if self.refusal is not None else int(self.is_low)


class LogHealth:
    """The state of one open log.

    `failure`: why the log is unusable until it is opened again, None while it works. After a failed sync the content of
    the disk is unknown.
    `is_open`: whether the log was neither closed nor deleted.
    `gate`: closed while the disk is too full for clients' records. All logs of a directory share one.
    `on_failure`: called with an error that takes the log directory offline, on the thread that met the error.
    """

    __slots__ = ("directory", "failure", "gate", "is_open", "on_failure")

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.gate = AppendGate()
        self.failure: OSError | None = None
        self.is_open = True
        self.on_failure: Callable[[OSError], None] | None = None

    @property
    def refuses_clients(self) -> bool:
        """Whether the append gate is closed: the disk is too full for clients' records."""
        return self.gate.refusal is not None

    def check_usable(self) -> None:
        """Raises StorageError after a failure, and after the log was closed."""
        if self.failure is not None or not self.is_open:
            raise StorageError(f"{self.directory}: {self.failure or 'the log is closed'}")

    def check_appendable(self, origin: AppendOrigin) -> None:
        """Raises StorageError if the log is unusable, or if a client appends while the gate is closed."""
        if self.failure is not None or not self.is_open:
            self.check_usable()
        if self.gate.refusal is not None and origin is AppendOrigin.CLIENT:
            raise StorageError(self.gate.refusal)

    def storage_error(self, error: OSError) -> StorageError:
        """The StorageError to raise for a disk error. Calls `on_failure` if the error takes the directory offline."""
        if self.on_failure is not None and ends_directory(error):
            self.on_failure(error)
        return StorageError(f"{self.directory}: {text_of(error)}")
