"""Runs the doctor in this process."""

import json
from typing import NamedTuple

import pytest

from odradek.__main__ import run_command


class Report(NamedTuple):
    """What the doctor printed."""

    code: int
    diagnoses: list[dict[str, str]]

    def of(self, *verdicts: str) -> list[tuple[str, str, str]]:
        """Check, text and step of the diagnoses with these verdicts."""
        return [(one["check"], one["text"], one["step"]) for one in self.diagnoses if one["verdict"] in verdicts]

    def the_mistake(self) -> tuple[str, str, str]:
        """The one error or warning."""
        [mistake] = self.of("error", "warning")
        return mistake


class Doctor:
    """Runs ``odradek doctor --json``."""

    def __init__(self, capture: pytest.CaptureFixture[bytes]) -> None:
        self._capture = capture

    def examine(self, address: str, *arguments: str, **settings: str) -> Report:
        """The diagnoses for an address. ``settings``: of the client, with underscores in place of dots."""
        properties = [f"--command-property={key.replace('_', '.')}={value}" for key, value in settings.items()]
        self._capture.readouterr()
        code = run_command(["doctor", address, "--json", *properties, *arguments])
        out, err = self._capture.readouterr()
        assert code in (0, 1), err.decode()
        report = Report(code, json.loads(out)["diagnoses"])
        assert report.code == bool(report.of("error"))
        return report
