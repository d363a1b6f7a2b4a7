"""docs/clients.md shows what was run: the libraries, suites and versions of the tables, with their results."""

from systems.libraries import results
from systems.libraries.suites import SUITES
from systems.libraries.table import LIBRARIES

RECORD = "`make client-libraries LIBRARIES=NAME` runs a library or suite, and prints the page"


def test_each_library_and_suite_was_run_in_its_version() -> None:
    data = results.read()
    for kind, rows in (("libraries", LIBRARIES), ("suites", SUITES)):
        assert {name: one["version"] for name, one in data[kind].items()} == {one.name: one.version for one in rows}, (
            RECORD
        )


def test_each_result_that_is_not_kafkas_has_a_reason() -> None:
    data = results.read()
    differing = {one.name: one.note for one in LIBRARIES if data["libraries"][one.name]["odradek"] != results.PASSED}
    assert all(differing.values()), differing
    for suite in SUITES:
        failed = results.Counts(*data["suites"][suite.name]["odradek"]).failed
        assert set(failed) <= set(suite.failing), suite.name


def test_the_page_is_current() -> None:
    assert results.PAGE.read_text() == results.page(results.read()), RECORD
