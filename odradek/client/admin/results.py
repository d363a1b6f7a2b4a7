"""The results of admin calls about several topics, groups or partitions ("parts"): a dictionary, or AdminError.

Pure.
"""

from collections.abc import Iterable, Mapping
from typing import TypeVar

from odradek.protocol.errors import KafkaError

from ..errors import AdminError, broker_error

Part = TypeVar("Part")
Value = TypeVar("Value")


def split(answers: Iterable[tuple[Part, int, str | None, Value]]) -> tuple[dict[Part, KafkaError], dict[Part, Value]]:
    """Separates answers (part, error code, error message, value) into errors by part and values by part."""
    errors: dict[Part, KafkaError] = {}
    results: dict[Part, Value] = {}
    for part, code, message, value in answers:
        if code:
            errors[part] = broker_error(code, f"'{part}'", message)
        else:
            results[part] = value
    return errors, results


def all_or_raise(errors: Mapping[Part, KafkaError], results: dict[Part, Value]) -> dict[Part, Value]:
    """Returns the results. If there are errors, raises AdminError with the errors and the results."""
    if errors:
        raise AdminError(errors, results)
    return results
