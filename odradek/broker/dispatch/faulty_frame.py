"""The reason why a frame could not be decoded, as text for the log."""

from odradek.protocol.errors import ProtocolError

from ..timers.log_lines import quoted


class FaultyFrame:
    """The reason why a frame was refused, as text. The text takes up to 5 ms, so it is made only if the log shows it.

    Convert it to text before the frame's bytes change, as a log call does.
    """

    __slots__ = ("_client_id", "_error", "_frame", "_text")

    def __init__(self, frame: memoryview, error: ProtocolError, client_id: str | None) -> None:
        self._frame = frame
        self._error = error
        self._client_id = client_id
        self._text: str | None = None

    def __str__(self) -> str:
        if self._text is None:
            from odradek.protocol.reference.dissect import explain  # imports construct; only for refused frames

            self._text = f"{explain(self._frame, self._error)}; client id {quoted(self._client_id)}"
        return self._text
