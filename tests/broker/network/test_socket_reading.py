"""A socket is read unless there is a reason to pause."""

from odradek.broker.network.request_order import BACKLOG, MEMORY, SocketReading


class Transport:
    def __init__(self) -> None:
        self.calls: list[str] = []

    def pause_reading(self) -> None:
        self.calls.append("pause")

    def resume_reading(self) -> None:
        self.calls.append("resume")


def test_reading_continues_after_the_last_reason() -> None:
    transport = Transport()
    reading = SocketReading(transport)  # type: ignore[arg-type]
    reading.resume(BACKLOG)
    reading.pause(BACKLOG)
    reading.pause(MEMORY)
    reading.pause(BACKLOG)
    assert transport.calls == ["pause"]
    reading.resume(BACKLOG)
    assert transport.calls == ["pause"]
    reading.resume(MEMORY)
    reading.resume(MEMORY)
    assert transport.calls == ["pause", "resume"]


def test_a_closed_socket_is_left_alone() -> None:
    transport = Transport()
    reading = SocketReading(transport)  # type: ignore[arg-type]
    reading.end()
    reading.pause(MEMORY)
    reading.resume(MEMORY)
    assert transport.calls == []
