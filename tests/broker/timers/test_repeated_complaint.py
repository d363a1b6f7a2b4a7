"""A problem that lasts is logged after a second and then every ten seconds, in virtual time."""

import pytest

from odradek.broker.timers.repeated_complaint import RepeatedComplaint


def test_complaints_come_after_a_second_then_every_ten(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO")
    now_ms = 0
    complaint = RepeatedComplaint("it fails", lambda: now_ms / 1000)
    said: list[int] = []
    for now_ms in range(0, 35_000, 50):
        before = len(caplog.records)
        complaint.complain(f"at {now_ms}")
        said += [now_ms] * (len(caplog.records) - before)
    assert said == [1_000, 11_000, 21_000, 31_000]
    assert caplog.messages[1] == "it fails: at 11000"
    complaint.resolved()
    complaint.resolved()
    assert caplog.messages[4:] == ["it fails: resolved"]


def test_what_rights_itself_within_a_second_is_not_said(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO")
    now_ms = 0
    complaint = RepeatedComplaint("it fails", lambda: now_ms / 1000)
    for now_ms in range(0, 60_000, 300):
        complaint.complain("no")
        if now_ms % 900 == 0:
            complaint.resolved()
    assert caplog.messages == []
