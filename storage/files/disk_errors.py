"""What errors of the disk mean: KAFKA_STORAGE_ERROR for who asked, and the end of the log directory for most of them.

Owns: which errors are a directory's end. Never does: acting on it (`LogDirectory.fail` does). Source: Kafka's
LogDirFailureChannel, which takes every IOException for the end; here a full disk is a state, and a lack of descriptors
or memory is not the disk's.
"""

import errno
from collections.abc import Callable
from functools import wraps
from typing import Concatenate, ParamSpec, Protocol, TypeVar

from ..errors import StorageError

PASSING = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.EINTR, errno.EAGAIN})
"""Errors after which the same directory may serve the next request."""


def ends_directory(error: OSError) -> bool:
    """Whether a log directory that answers with this error can't be trusted any more."""
    return error.errno not in PASSING


class OnDisk(Protocol):
    """What has such operations."""

    def check_usable(self) -> None:
        """Raises StorageError when nothing can be done any more."""

    def storage_error(self, error: OSError) -> StorageError:
        """The error to raise for one of the disk's."""


Owner = TypeVar("Owner", bound=OnDisk)
Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")


def on_disk(
    operation: Callable[Concatenate[Owner, Arguments], Result],
) -> Callable[Concatenate[Owner, Arguments], Result]:
    """The operation, refused on an unusable log, and with StorageError in place of OSError."""

    @wraps(operation)
    def checked(owner: Owner, /, *arguments: Arguments.args, **named: Arguments.kwargs) -> Result:
        owner.check_usable()
        try:
            return operation(owner, *arguments, **named)
        except OSError as error:
            raise owner.storage_error(error) from error

    return checked
