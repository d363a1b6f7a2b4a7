"""Disk errors: the caller gets KAFKA_STORAGE_ERROR, and most of them take the log directory offline.

Owns: the list of errors that do not take the directory offline. Never does: taking it offline (`LogDirectory.fail`
does). Source: Kafka's LogDirFailureChannel, where every IOException takes the directory offline. Here a full disk only
refuses clients' records, and a lack of descriptors or memory is not the disk's fault.
"""

import errno
from collections.abc import Callable
from functools import wraps
from typing import Concatenate, ParamSpec, Protocol, TypeVar

from ..errors import StorageError

PASSING = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.EINTR, errno.EAGAIN})
"""Errors after which the same directory may serve the next request."""
NO_DESCRIPTOR = (errno.EMFILE, errno.ENFILE)


def ends_directory(error: OSError) -> bool:
    """Whether this error takes the log directory offline, because its files can't be trusted any more."""
    return error.errno not in PASSING


def lacks_descriptors(error: BaseException) -> bool:
    """Whether an OSError, or a StorageError that was raised from one, says that no descriptor was left for an open.

    Nothing was read, written or synced then: the operation may be repeated.
    """
    cause = error.__cause__ if isinstance(error, StorageError) else error
    return isinstance(cause, OSError) and cause.errno in NO_DESCRIPTOR


def text_of(error: OSError) -> str:
    """The text of a disk error for clients and the log, with what to do if the process or the system is the cause."""
    if error.errno == errno.EMFILE:
        return f"{error}: this process has reached its limit of open files; raise the limit (ulimit -n)"
    if error.errno == errno.ENFILE:
        return f"{error}: the system has reached its limit of open files; raise the limit (sysctl fs.file-max)"
    return str(error)


def is_passing(error: Exception) -> bool:
    """Whether an OSError, or a StorageError that was raised from one, leaves its directory usable: try again later."""
    cause = error.__cause__ if isinstance(error, StorageError) else error
    return isinstance(cause, OSError) and not ends_directory(cause)


class Health(Protocol):
    """Whether an object can be used."""

    def check_usable(self) -> None:
        """Raises StorageError if the object is unusable."""

    def storage_error(self, error: OSError) -> StorageError:
        """The StorageError to raise for a disk error."""


class OnDisk(Protocol):
    """An object whose methods `on_disk` wraps."""

    @property
    def health(self) -> Health:
        """Whether the object can be used."""


Owner = TypeVar("Owner", bound=OnDisk)
Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")


def on_disk(
    operation: Callable[Concatenate[Owner, Arguments], Result],
) -> Callable[Concatenate[Owner, Arguments], Result]:
    """Wraps a method: it raises StorageError if its object is unusable, and in place of an OSError."""

    @wraps(operation)
    def checked(owner: Owner, /, *arguments: Arguments.args, **named: Arguments.kwargs) -> Result:
        health = owner.health
        health.check_usable()
        try:
            return operation(owner, *arguments, **named)
        except OSError as error:
            raise health.storage_error(error) from error

    return checked
