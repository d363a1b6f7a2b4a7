"""A release has the notes of its version and the files that git knows, and its images say what they are."""

import re
from pathlib import Path

import pytest

from odradek import __version__
from tools.places import ROOT
from tools.release import contents, notes

CHANGELOG = """# Changelog

## [Unreleased]

### Added
- Later.

## [0.2.0] - 2027-01-31

### Added
- One.

## [0.1.10] - 2027-01-01

## [0.1.1]

- Two.
"""


def test_the_notes_are_the_section_of_the_version() -> None:
    assert notes.notes(CHANGELOG, "0.2.0") == "### Added\n- One.\n"


@pytest.mark.parametrize(
    ("version", "why"),
    [
        ("0.2", "no section"),
        ("0.1.0", "no section"),
        ("0.1.10", "empty"),
        ("0.1.1", "no date"),
        ("Unreleased", "no date"),
    ],
)
def test_a_version_that_is_not_described_is_refused(version: str, why: str) -> None:
    with pytest.raises(notes.NotesError, match=why):
        notes.notes(CHANGELOG, version)


def test_the_version_of_the_code_has_notes(capsys: pytest.CaptureFixture[str]) -> None:
    assert notes.main(__version__) == 0
    assert "### Added" in capsys.readouterr().out


def test_another_version_than_that_of_the_code_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert notes.main("99.0.0") == 1
    assert capsys.readouterr().err == (
        f"release 99.0.0: odradek/__init__.py has the version {__version__}, not 99.0.0\n"
    )


def test_a_file_too_many_or_too_few_is_named() -> None:
    assert contents.differences("x.whl", {"a", "b"}, {"b", "c"}) == [
        "x.whl lacks c",
        "x.whl has a, which git does not know there",
    ]


def test_files_that_are_left_out_exist() -> None:
    assert contents.tracked() >= contents.NOT_INSTALLED
    assert all((ROOT / name).is_file() for name in contents.BESIDE | contents.TO_BUILD)


@pytest.mark.parametrize("path", ["docker/Dockerfile", "docker/jobs/Dockerfile"])
def test_an_image_says_what_it_is(path: str) -> None:
    text = Path(ROOT / path).read_text()
    labels = dict(re.findall(r'org\.opencontainers\.image\.(\w+)="([^"]*)"', text.rpartition("\nFROM ")[2]))
    assert labels.keys() == {"title", "description", "licenses"}
    assert labels["licenses"] == "Apache-2.0"
