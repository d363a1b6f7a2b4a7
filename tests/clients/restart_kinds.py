"""The rows of the restart matrix: every kind of client of each library."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from .restart_clients import (
    AioKafka,
    ConfluentCopies,
    ConfluentGroup,
    ConfluentProducer,
    ConfluentShare,
    ConfluentTransactions,
    PythonCopies,
    PythonGroup,
    PythonProducer,
    Restarted,
)
from .restart_topics import numbers, write
from .restarted_programs import KINDS_OF_PROGRAMS, ProgramClient, go_client, java_client

Make = Callable[[str], Restarted]

KINDS: dict[tuple[str, str], Make] = {
    ("confluent-kafka", "plain producer"): lambda address: ConfluentProducer(address, acks="1"),
    ("confluent-kafka", "idempotent producer"): lambda address: ConfluentProducer(
        address, **{"enable.idempotence": True}
    ),
    ("confluent-kafka", "transactions"): ConfluentTransactions,
    ("confluent-kafka", "classic group"): lambda address: ConfluentGroup(address, "classic"),
    ("confluent-kafka", "consumer group"): lambda address: ConfluentGroup(address, "consumer"),
    ("confluent-kafka", "copies, classic group"): lambda address: ConfluentCopies(address, "classic"),
    ("confluent-kafka", "copies, consumer group"): lambda address: ConfluentCopies(address, "consumer"),
    ("confluent-kafka", "share group"): ConfluentShare,
    ("kafka-python", "plain producer"): lambda address: PythonProducer(address, enable_idempotence=False),
    ("kafka-python", "idempotent producer"): lambda address: PythonProducer(address, enable_idempotence=True),
    ("kafka-python", "transactions"): lambda address: PythonCopies(address, copies=False),
    ("kafka-python", "classic group"): PythonGroup,
    ("kafka-python", "copies, classic group"): lambda address: PythonCopies(address, copies=True),
    ("aiokafka", "plain producer"): AioKafka,
    ("aiokafka", "idempotent producer"): lambda address: AioKafka(address, enable_idempotence=True),
    ("aiokafka", "transactions"): lambda address: AioKafka(address, transactional_id="restart-aio"),
    ("aiokafka", "classic group"): lambda address: AioKafka(address, group=True),
    ("aiokafka", "copies, classic group"): lambda address: AioKafka(address, transactional_id="copy-aio", group=True),
}


def _of_java(kind: str) -> Make:
    return lambda address: ProgramClient(java_client(), address, kind, write)


def _of_go(kind: str) -> Make:
    return lambda address: ProgramClient(go_client(), address, kind, write)


KINDS |= {("Java", kind): _of_java(kind) for kind in KINDS_OF_PROGRAMS}
KINDS |= {("franz-go", kind): _of_go(kind) for kind in KINDS_OF_PROGRAMS}
"""Library and kind of client -> what makes it."""
WITHOUT_HELP = KINDS | {
    ("confluent-kafka", kind): lambda address, protocol=protocol: ConfluentCopies(
        address, protocol, **{"metadata.recovery.strategy": "none"}
    )
    for kind, protocol in (("copies, classic group", "classic"), ("copies, consumer group", "consumer"))
}
"""The same with the setting that librdkafka needs at a broker that does not help it (docs/operating.md)."""
WRITES_OUT = ("producer", "transactions", "copies")
"""Kinds that write to OUT have these words."""
MAY_WRITE_TWICE = {("franz-go", "transactions"), *(key for key in KINDS if key[1] == "plain producer")}


@contextmanager
def living(make: Make, address: str) -> Iterator[Restarted]:
    """A client, which is closed at the end; its program is killed if the test fails."""
    client = make(address)
    try:
        yield client
        client.close()
    finally:
        if isinstance(client, ProgramClient):
            client.kill()


def check(address: str, library: str, kind: str, count: int) -> None:
    """Asserts that ``count`` numbers were written, each once and in order if the kind of client allows that."""
    if any(word in kind for word in WRITES_OUT):
        found = numbers(address, count)
        assert set(found) == set(range(count))
        if (library, kind) not in MAY_WRITE_TWICE:
            assert found == sorted(set(found)), "each once, in their order"
