"""Where a response has error codes: found once for each API and version. Pure.

Owns: the places of the error codes. Never does: I/O. Source: ``errorCounts`` of Kafka's response classes, which count
each item.
"""

from typing import Any

from ...protocol.table import StructureSpec, message

COUNTED_ITEMS = 1_000
"""Items of one response whose errors are counted: more would take more than a tenth of a millisecond."""
ERROR_FIELDS = ("error_code", "partition_error_code")


class ErrorPlan:
    """The field of a structure with its error code, and its lists of structures that have one."""

    __slots__ = ("_code", "_lists")

    def __init__(self, code: str | None, lists: "list[tuple[str, ErrorPlan]]") -> None:
        self._code = code
        self._lists = lists

    @property
    def is_empty(self) -> bool:
        """Whether it finds no error code anywhere."""
        return self._code is None and not self._lists

    def count(self, structure: Any, counts: dict[int, int], left: int = COUNTED_ITEMS) -> int:
        """Adds the codes of a structure to ``counts``. Returns how many more items may be counted."""
        if self._code is not None:
            code = getattr(structure, self._code)
            counts[code] = counts.get(code, 0) + 1
        for attribute, plan in self._lists:
            for item in getattr(structure, attribute) or ():
                if left <= 0:
                    return 0
                left = plan.count(item, counts, left - 1)
        return left


def error_plan(response: str, version: int) -> ErrorPlan:
    """The plan for one version of a response. ``response``: Kafka's name, such as ``FetchResponse``."""
    structures = message(response).layout(version).structures

    def plan_of(spec: StructureSpec) -> ErrorPlan:
        code, lists = None, []
        for field in spec.fields:
            if version not in field.versions:
                continue
            if field.attribute in ERROR_FIELDS:
                code = field.attribute
            elif field.is_array and field.is_structure:
                inner = plan_of(structures[field.element])
                if not inner.is_empty:
                    lists.append((field.attribute, inner))
        return ErrorPlan(code, lists)

    return plan_of(structures[response])
