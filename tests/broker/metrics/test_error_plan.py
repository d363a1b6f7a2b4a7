"""The generated functions that count error codes find every code of every response."""

from collections import Counter
from collections.abc import Iterator
from itertools import cycle
from typing import Any

import pytest

from odradek.broker.dispatch.served import SERVED, served_versions
from odradek.broker.metrics.error_plan import ERROR_FIELDS, error_plan
from odradek.protocol.apis.api_keys import api
from odradek.protocol.apis.table import message


class Filled:
    """A response with two items in each list of structures, and a known code in each field for one."""

    def __init__(self, cls: Any, version: int) -> None:
        self.codes: Counter[int] = Counter()
        self._numbers: Iterator[int] = cycle((0, 3, 5, 0, 16))
        self._cls = cls
        self._version = version
        self._structures = message(cls.NAME).layout(version).structures
        self.response = self._fill(cls(), cls.NAME)

    def _fill(self, made: Any, name: str) -> Any:
        for field in self._structures[name].fields:
            if self._version not in field.versions:
                continue
            if field.attribute in ERROR_FIELDS:
                code = next(self._numbers)
                self.codes[code] += 1
                setattr(made, field.attribute, code)
            elif field.is_array and field.is_structure:
                cls = getattr(self._cls, field.element)
                setattr(made, field.attribute, [self._fill(cls(), field.element) for _ in range(2)])
        return made


@pytest.mark.parametrize("api_key", SERVED, ids=lambda key: api(key).name)
def test_every_code_of_an_answer_is_counted(api_key: int) -> None:
    lowest, highest = served_versions(api_key)
    for version in range(lowest, highest + 1):
        filled = Filled(api(api_key).response_class(), version)
        counts: dict[int, int] = {}
        successes = error_plan(filled.response.NAME, version).count(filled.response, counts)
        assert {0: successes, **counts} == {0: 0, **filled.codes}, version


def test_a_list_may_be_null() -> None:
    cls: Any = api(3).response_class()
    response = cls(topics=None)
    assert error_plan("MetadataResponse", 12).count(response, {}) == 0
