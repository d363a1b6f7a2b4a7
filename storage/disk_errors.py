"""A decorator for operations on a log that touch the disk: its errors become KAFKA_STORAGE_ERROR."""

from collections.abc import Callable
from functools import wraps
from typing import Concatenate, ParamSpec, Protocol, TypeVar

from .errors import StorageError


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
