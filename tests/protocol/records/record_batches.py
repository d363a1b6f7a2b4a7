"""Apache Kafka's own record batches: programs (tests/java/RecordBatches.java, DownConversion.java) that answer JSON
lines.
"""

import json
import subprocess
from typing import Any

from support.kafka.java import KAFKA_VERSION, java_arguments, java_class

FOREVER = 2**62
NOW = 1_800_000_000_000


class JavaRecordBatches:
    """The running program RecordBatches.java, or another one with the same protocol."""

    def __init__(self, program: str = "RecordBatches", version: str = KAFKA_VERSION) -> None:
        self.process = subprocess.Popen(
            [*java_arguments(version, heap="256m"), java_class(program, version)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def ask(self, operation: str, **arguments: Any) -> dict[str, Any]:
        """The program's answer; bytes become hexadecimal."""
        request = {"op": operation} | {k: v.hex() if isinstance(v, bytes) else v for k, v in arguments.items()}
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(json.dumps(request) + "\n")
        self.process.stdin.flush()
        answer: dict[str, Any] = json.loads(self.process.stdout.readline())
        return answer

    def ask_bytes(self, operation: str, **arguments: Any) -> bytes:
        """The bytes of an answer that must not be an error."""
        answer = self.ask(operation, **arguments)
        assert "error" not in answer, answer
        return bytes.fromhex(answer["bytes"])

    def close(self) -> None:
        """Ends the program: it stops at the end of its input."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait(timeout=60)


def java_code(answer: dict[str, Any]) -> str:
    """The name of the error in an answer; NONE without one."""
    return str(answer.get("code", "NONE"))
