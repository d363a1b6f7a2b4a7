"""What a check of the doctor found: a verdict, one sentence, and what to do next."""

from enum import StrEnum
from typing import NamedTuple


class Verdict(StrEnum):
    """How a check ended."""

    OK = "ok"
    SKIPPED = "skipped"
    """It could not be made, and nothing is known to be wrong: a right is missing, or a flag leaves it out."""
    WARNING = "warning"
    """Clients work now, and will not under some condition."""
    ERROR = "error"
    """Clients do not work."""


class Diagnosis(NamedTuple):
    """One line of the report."""

    check: str
    verdict: Verdict
    text: str
    step: str = ""
    """What to do next, for warnings and errors."""


def ok(check: str, text: str) -> Diagnosis:
    """A check that found nothing wrong."""
    return Diagnosis(check, Verdict.OK, text)


def skipped(check: str, text: str) -> Diagnosis:
    """A check that could not be made."""
    return Diagnosis(check, Verdict.SKIPPED, text)


def warning(check: str, text: str, step: str) -> Diagnosis:
    """A check that found what will stop clients under some condition."""
    return Diagnosis(check, Verdict.WARNING, text, step)


def error(check: str, text: str, step: str) -> Diagnosis:
    """A check that found what stops clients."""
    return Diagnosis(check, Verdict.ERROR, text, step)
