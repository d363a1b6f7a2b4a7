"""Share consumers of Kafka's own client (tests/java/ShareMember.java), at one broker."""

from collections.abc import Sequence
from typing import Any

from support.eventually import PATIENCE_S
from support.kafka.java import FORMER_KAFKA_VERSION, TABLE_VERSION
from support.kafka.java_program import JavaProgram

Got = tuple[int, int, int, str]
"""Partition, offset, delivery count and value of a record."""


class ShareMembers(JavaProgram):
    """The program, with the share consumers that it runs."""

    NAME = "ShareMember"
    RELEASE = TABLE_VERSION

    def start(self, name: str, port: int, group: str, *topics: str, **config: str) -> None:
        """Starts a consumer. ``_`` stands for ``.`` in the names of ``config``."""
        given = {key.replace("_", "."): value for key, value in config.items()}
        keys = {"bootstrap.servers": f"127.0.0.1:{port}", "group.id": group, "client.id": name, **given}
        self._ask(name, "start", config=keys, topics=topics)

    def poll(self, name: str, ms: int = 1_000) -> list[Got]:
        """The records of one poll."""
        return [tuple(record) for record in self._ask(name, "poll", ms=ms)["records"]]

    def poll_until(self, name: str, count: int) -> list[Got]:
        """Polls until there is a number of records. A consumer with explicit acknowledgements needs one poll."""
        found: list[Got] = []
        for _ in range(int(PATIENCE_S)):
            found += self.poll(name)
            if len(found) >= count:
                return found
        raise AssertionError(f"{name} got {len(found)} of {count} records")

    def acknowledge(self, name: str, types: Sequence[str]) -> None:
        """Acknowledges the records of the last poll, in order."""
        self._ask(name, "acknowledge", types=list(types))

    def commit(self, name: str) -> Any:
        """Commits. Returns the errors by partition."""
        return self._ask(name, "commit")["errors"]

    def close(self, name: str) -> None:
        """Ends a consumer."""
        self._ask(name, "close")

    def _ask(self, name: str, what: str, **fields: Any) -> Any:
        answer = self.order({"do": what, "name": name, **fields})
        assert "error" not in answer, answer["error"]
        return answer


class FormerShareMembers(ShareMembers):
    """Those of the release before, 4.3.1."""

    RELEASE = FORMER_KAFKA_VERSION
