"""A Java program of tests/java that runs during a block, and answers each line of JSON with another one."""

import json
import subprocess
from types import TracebackType
from typing import Any, Self

from support.kafka.java import KAFKA_VERSION, java_arguments, java_class, java_or_skip

END_TIMEOUT_S = 60.0


class JavaProgram:
    """The program. ``NAME``: its file's name without the suffix. ``RELEASE``: the Kafka whose classes it uses."""

    NAME: str
    RELEASE = KAFKA_VERSION

    def __init__(self) -> None:
        self._process: subprocess.Popen[str] | None = None

    def __enter__(self) -> Self:
        java_or_skip(self.RELEASE)
        self._process = subprocess.Popen(self.command(), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._process is not None
        assert self._process.stdin is not None
        self._process.stdin.close()
        try:
            self._process.wait(END_TIMEOUT_S)
        finally:
            self._process.kill()

    def command(self) -> list[str]:
        """The command that starts it."""
        return [*java_arguments(self.RELEASE), java_class(self.NAME, self.RELEASE)]

    def order(self, order: Any) -> Any:
        """Sends an order; returns the answer."""
        assert self._process is not None
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(order) + "\n")
        self._process.stdin.flush()
        answer = self._process.stdout.readline()
        assert answer, f"{self.NAME} ended: {order}"
        return json.loads(answer)
