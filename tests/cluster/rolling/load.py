"""Clients that work while brokers are replaced. The application may only see errors that a retry hides.

    load = Load(servers, tmp_path)
    load.start()
    load.until_progress()     # every client has done something since this call
    load.end()

Threads of this process, one for each client, with the clients' default timeouts. Each writes a journal
(support/fire/history.py). Errors that a retry does not hide are in ``findings.errors``.
"""

import threading
from pathlib import Path

from confluent_kafka import KafkaException

from cluster.rolling.clients import KINDS, PATIENCE_S, WATCHER, Client, Findings
from support.eventually import eventually
from support.fire.history import (
    ASKER,
    ASSIGNED_READER,
    CONSUMER_READER,
    GROUP_READER,
    IDEMPOTENT,
    TELLER,
    TRANSACTIONAL,
    FireJournal,
)
from support.fire.worker import (
    Specification,
)

CREW = (
    (IDEMPOTENT, "idempotent"),
    (TRANSACTIONAL, "books"),
    (ASSIGNED_READER, "all"),
    (GROUP_READER, "member-1"),
    (GROUP_READER, "member-2"),
    (CONSUMER_READER, "member-848-1"),
    (CONSUMER_READER, "member-848-2"),
    (ASKER, "asker"),
    (TELLER, "teller"),
    (WATCHER, "watcher"),
)


class Load:
    """The clients, with their errors."""

    def __init__(self, servers: str, directory: Path) -> None:
        """``directory``: for the journals."""
        self.findings = Findings()
        self.journals = [directory / f"{number:03d}-{name}.journal" for number, (_, name) in enumerate(CREW, 1)]
        self._leave = {kind: threading.Event() for kind in KINDS}
        self._threads: dict[threading.Thread, Client] = {}
        for number, ((kind, name), journal) in enumerate(zip(CREW, self.journals, strict=True), 1):
            leave = self._leave[kind]
            client = Client(servers, FireJournal(journal), Specification(kind, name, number), leave, self.findings)
            self._threads[threading.Thread(target=self._run, args=(client,), name=name, daemon=True)] = client

    def _run(self, client: Client) -> None:
        try:
            KINDS[client.specification.kind](client)
        except KafkaException as exception:
            client.failed("ended", exception.args[0])

    def start(self) -> None:
        """Starts all clients."""
        for thread in self._threads:
            thread.start()

    def until_progress(self) -> None:
        """Waits until every client has made progress. Raises AssertionError with the errors."""
        since = {client: client.steps for client in self._threads.values()}

        def idle() -> list[str]:
            return [client.specification.name for client, steps in since.items() if client.steps == steps]

        def all_have() -> bool:
            self.check()
            return not idle()

        eventually(
            lambda: f"progress of {idle()}; retries: {self.findings.retries[-5:]}", all_have, patience_s=PATIENCE_S
        )

    def check(self) -> None:
        """Raises AssertionError if a client had an error."""
        assert not self.findings.errors, self.findings.errors[:20]

    def end(self, *kinds: str) -> None:
        """Ends the clients of these kinds cleanly."""
        for kind in kinds:
            self._leave[kind].set()
        for thread, client in self._threads.items():
            if client.specification.kind in kinds and thread.ident is not None:
                thread.join(PATIENCE_S)
                assert not thread.is_alive(), f"{client.specification} does not end"
