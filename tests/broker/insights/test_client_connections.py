"""Connections by library, in steps and bounded rows."""

from collections.abc import Iterator

from odradek.broker.insights.client_connections import (
    COUNTED_A_STEP,
    MAX_CHARACTERS,
    MOST_ROWS,
    OpenConnection,
    count_connections,
)
from odradek.protocol.common.steps import run_to_end


def test_rows_are_counted_and_sorted() -> None:
    java, c = ("apache-kafka-java", "4.4.0"), ("librdkafka", "2.16.0")
    open_now = [
        OpenConnection("PLAINTEXT", java, "User:a", 4.0),
        OpenConnection("PLAINTEXT", java, "User:a", 2.0),
        OpenConnection("PLAINTEXT", c, "User:a", 1.0),
    ]
    counts = run_to_end(count_connections(open_now))
    assert counts.total == 3
    assert [(row.connected_as.library, row.connections, row.idle_s) for row in counts.rows] == [
        ("apache-kafka-java", 2, 2.0),
        ("librdkafka", 1, 1.0),
    ]


def test_names_of_clients_are_bounded() -> None:
    many = 5 * MOST_ROWS

    def connections() -> Iterator[OpenConnection]:
        for number in range(many):
            yield OpenConnection("PLAINTEXT", (f"{number}-" + "x" * 1000, ""), "User:a", 0.0)

    steps = count_connections(connections())
    taken = 0
    try:
        while True:
            next(steps)
            taken += 1
    except StopIteration as end:
        counts = end.value
    assert taken == many // COUNTED_A_STEP
    assert len(counts.rows) == MOST_ROWS
    assert counts.others == many - MOST_ROWS
    assert max(len(row.connected_as.library) for row in counts.rows) < MAX_CHARACTERS + 30
