"""One Java program for all tests of this folder."""

from collections.abc import Iterator

import pytest

from support.kafka.java import java_or_skip

from .record_batches import JavaRecordBatches


@pytest.fixture(scope="session")
def kafka() -> Iterator[JavaRecordBatches]:
    java_or_skip()
    program = JavaRecordBatches()
    yield program
    program.close()
