"""The results of admin calls over several parts: all of them, or AdminError with results and errors.

Pure.
"""

from collections.abc import Iterable, Mapping
from typing import TypeVar

from ...protocol.errors import KafkaError
from ..errors import AdminError, broker_error

Part = TypeVar("Part")
Value = TypeVar("Value")


def split(answers: Iterable[tuple[Part, int, str | None, Value]]) -> tuple[dict[Part, KafkaError], dict[Part, Value]]:
    """Errors and values by part, from (part, error code, error message, value)."""
    errors: dict[Part, KafkaError] = {}
    results: dict[Part, Value] = {}
    for part, code, message, value in answers:
        if code:
            errors[part] = broker_error(code, f"'{part}'", message)
        else:
            results[part] = value
    return errors, results


def all_or_raise(errors: Mapping[Part, KafkaError], results: dict[Part, Value]) -> dict[Part, Value]:
    """The results, unless there are errors: then AdminError with both."""
    if errors:
        raise AdminError(errors, results)
    return results
