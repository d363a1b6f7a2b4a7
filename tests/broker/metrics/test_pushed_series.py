"""The series that clients push: values, bounds, and how they are forgotten."""

from odradek.broker.metrics.client_metrics import ClientMetricsShown, ClientMetricsSources
from odradek.broker.metrics.counts import ClientMetricsCounts
from odradek.broker.metrics.pieces import SAMPLES_A_PIECE
from odradek.broker.metrics.pushed_series import (
    ATTRIBUTES_MAX,
    PUSHES_KEPT,
    SERIES_OF_CLIENT_MAX,
    SHOWN_FOR_MS,
    TEXT_MAX_CHARACTERS,
    Labels,
    PushedSeries,
    labels_of,
    shown_name,
)

NOW_MS = 1_700_000_000_000
INTERVAL_MS = 1_000


class Clients:
    """Clients that push, and what is shown of them."""

    def __init__(self, series_max: int = 10_000) -> None:
        self.counts = ClientMetricsCounts()
        self.series = PushedSeries(series_max, self.counts)
        self.now_ms = NOW_MS
        sources = ClientMetricsSources(self.counts, lambda: 0, self.series)
        self._shown = ClientMetricsShown(lambda: sources, lambda: self.now_ms)

    def push(
        self,
        client: str,
        *points: tuple[str, float] | tuple[str, float, Labels],
        is_counter: bool = False,
        is_delta: bool = False,
    ) -> None:
        pushing = self.series.begin_push(client, f"id of {client}", INTERVAL_MS, self.now_ms)
        if pushing is None:
            return
        for name, value, *labels in points:
            attributes = labels[0] if labels else ()
            self.series.add(pushing, name, attributes, value, is_counter=is_counter, is_delta=is_delta)
        self.series.end_push(pushing)

    def shown(self) -> dict[tuple[str, ...], float]:
        """Name, instance, values of the other labels but the client's id -> value."""
        return {
            (sample.name, sample.labels["client_instance_id"], *list(sample.labels.values())[2:]): sample.value
            for metric in self._shown.pieces()
            for sample in metric.samples
            if "client_instance_id" in sample.labels
        }

    @property
    def dropped(self) -> dict[str, int]:
        return {reason: count for reason, count in self.counts.dropped.items() if count}


def test_values_and_changes() -> None:
    clients = Clients()
    for value in (1.0, 2.0):
        clients.push("a", ("org.apache.kafka.producer.io.ratio", value), ("x", value, (("topic", "t"),)))
        clients.push("a", ("sent", value), is_counter=True, is_delta=True)
        clients.push("b", ("sent", value), is_counter=True)
        clients.push("b", ("open.total", value), is_delta=True)
    assert clients.shown() == {
        ("kafka_client_producer_io_ratio", "a"): 2.0,
        ("kafka_client_x", "a", "t"): 2.0,
        ("kafka_client_sent_total", "a"): 3.0,
        ("kafka_client_sent_total", "b"): 2.0,
        ("kafka_client_open_total", "b"): 3.0,
    }
    assert clients.dropped == {}


def test_names_that_would_be_the_same_are_one_series_or_none() -> None:
    """Two samples of one name and labels would make the whole answer invalid, and so would two kinds of one name."""
    clients = Clients()
    clients.push("a", ("x.y", 1.0), ("x_y", 2.0), ("org.apache.kafka.x.y", 3.0))
    clients.push("b", ("x.y", 4.0), ("x.y.total", 5.0), is_counter=True)
    clients.push("b", ("x.y.total", 6.0))
    assert clients.shown() == {("kafka_client_x_y", "a"): 3.0}
    assert clients.dropped == {"invalid": 3}


def test_a_name_has_another_kind_after_its_last_series() -> None:
    clients = Clients()
    clients.push("a", ("x", 1.0))
    clients.now_ms += SHOWN_FOR_MS
    clients.push("b", ("x", 2.0), is_counter=True)
    assert clients.shown() == {("kafka_client_x_total", "b"): 2.0}


def test_what_cannot_be_shown_is_dropped() -> None:
    clients = Clients()
    long = "x" * (TEXT_MAX_CHARACTERS + 1)
    many = tuple((f"a{number}", "v") for number in range(ATTRIBUTES_MAX + 1))
    bad = (("__name__", "up"),), (("1a", "v"),), (("", "v"),), ((long, "v"),), (("a", long),), many
    clients.push("a", ("", 1.0), (long, 1.0), *(("x", 1.0, labels) for labels in bad))
    assert clients.shown() == {}
    assert clients.dropped == {"invalid": 2 + len(bad)}
    assert clients.series.client_count == 0


def test_attributes_become_labels() -> None:
    sent = (("node.id", "1"), ("client_id", "other"), ("client.instance.id", "other"), ("b", 'x"\n'))
    assert labels_of(sent) == (("b", 'x"\n'), ("node_id", "1"))
    assert shown_name("org.apache.kafka.consumer.a-b.é") == "kafka_client_consumer_a_b__"


def test_one_client_has_a_bounded_number() -> None:
    clients = Clients()
    clients.push("a", *((f"m{number}", 1.0) for number in range(SERIES_OF_CLIENT_MAX + 5)))
    clients.push("b", ("m0", 1.0))
    assert clients.series.series_count == SERIES_OF_CLIENT_MAX + 1
    assert clients.dropped == {"client": 5}


def test_all_clients_have_a_bounded_number() -> None:
    """Those who came first keep theirs; the others get room when these are forgotten."""
    clients = Clients(series_max=4)
    for client in "abc":
        clients.push(client, ("x", 1.0), ("y", 1.0))
    assert {key[1] for key in clients.shown()} == {"a", "b"}
    assert clients.dropped == {"total": 2}
    clients.now_ms += SHOWN_FOR_MS - 1
    clients.push("b", ("x", 1.0), ("y", 1.0))
    clients.now_ms += 1
    clients.push("c", ("x", 1.0), ("y", 1.0))
    assert {key[1] for key in clients.shown()} == {"b", "c"}
    assert clients.series.series_count == 4


def test_a_client_is_shown_for_some_time_after_its_last_push() -> None:
    clients = Clients()
    clients.push("a", ("x", 1.0))
    clients.now_ms += SHOWN_FOR_MS - 1
    assert clients.shown() == {("kafka_client_x", "a"): 1.0}
    clients.push("b", ("y", 1.0))
    clients.now_ms += 1
    assert clients.shown() == {("kafka_client_y", "b"): 1.0}
    assert clients.series.client_count == 1


def test_a_push_that_goes_on_after_its_client_was_forgotten_leaves_nothing() -> None:
    clients = Clients()
    slow = clients.series.begin_push("a", "a", INTERVAL_MS, clients.now_ms)
    assert slow is not None
    clients.series.add(slow, "x", (), 1.0, is_counter=False, is_delta=False)
    clients.now_ms += SHOWN_FOR_MS
    clients.push("b", ("y", 1.0))
    clients.series.add(slow, "x", (), 1.0, is_counter=False, is_delta=False)
    clients.series.end_push(slow)
    assert clients.series.series_count == 1


def test_a_series_that_is_not_pushed_any_more_goes() -> None:
    clients = Clients()
    clients.push("a", ("x", 1.0), ("y", 1.0))
    for _ in range(PUSHES_KEPT - 1):
        clients.push("a", ("x", 1.0))
    assert clients.series.series_count == 2
    clients.push("a", ("x", 1.0))
    assert clients.shown() == {("kafka_client_x", "a"): 1.0}


def test_pieces_are_small_and_a_family_is_in_one_place() -> None:
    clients = Clients()
    for number in range(3 * SAMPLES_A_PIECE):
        clients.push(f"client {number}", ("x", 1.0), ("y", 1.0))
    sources = ClientMetricsSources(clients.counts, lambda: 0, clients.series)
    pieces = list(ClientMetricsShown(lambda: sources, lambda: clients.now_ms).pieces())
    assert max(len(piece.samples) for piece in pieces) == SAMPLES_A_PIECE
    names = [piece.name for piece in pieces if piece.name.startswith("kafka_client_")]
    assert names == sorted(names)
