"""`make bench-alternatives`: Odradek and other brokers inside a test suite, in turn on this machine.

For each, in a new process each round: the time, processor time and memory from nothing to the first answered Metadata
request; with confluent-kafka, 1,000 round trips of one record, and from subscribe to the first record of a group, after
the broker has its offsets topic; the time to a clean broker for the next test. Prints the medians of the rounds as a
Markdown table, and writes all samples to docs/developers/benchmarks.json.
"""

import argparse
import os
import statistics
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from confluent_kafka import Consumer, Producer, TopicPartition

import workloads
from comparison_table import Samples, figure, save
from support.brokers.peak_memory import peak_resident_bytes
from support.brokers.processor_time import cpu_seconds

from .contenders import CONTENDERS, Contender, Workshop

ROOT = Path(__file__).parents[2]
TOPIC = "trips"
ENOUGH_SECONDS = 3
"""After this time a round makes no more round trips."""
MIB = 1 << 20
CLEAN_BROKERS = 3
"""How often a round asks for a clean broker; each round's sample is the median."""


def round_trip_ms(bootstrap: str, creates_topics: bool, most: int) -> float:
    """The mean time of producing one record, with its acknowledgement, and consuming it, in milliseconds.

    ``most``: how often, unless ENOUGH_SECONDS are over before.
    """
    if creates_topics:
        workloads.create_topic(bootstrap, TOPIC)
    producer = Producer({"bootstrap.servers": bootstrap, "linger.ms": 0})
    producer.list_topics(TOPIC, timeout=30)
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": "trips", "enable.auto.commit": False})
    consumer.assign([TopicPartition(TOPIC, 0, 0)])

    def trip(value: bytes) -> None:
        producer.produce(TOPIC, value, partition=0)
        assert producer.flush(30) == 0
        message = consumer.poll(30)
        assert message is not None
        assert message.error() is None, message.error()
        assert message.value() == value

    trip(b"untimed")
    begin = time.perf_counter()
    count = 0
    while count < most and time.perf_counter() - begin < ENOUGH_SECONDS:
        trip(b"%d" % count)
        count += 1
    seconds = time.perf_counter() - begin
    consumer.close()
    return 1000 * seconds / count


def measure(contender: Contender, directory: Path, round_trips: int) -> dict[str, float]:
    """One round of one contender."""
    begin = time.perf_counter()
    broker = contender.start(directory)
    figures = {"start, ms": 1000 * (time.perf_counter() - begin)}
    try:
        figures["start, CPU ms"] = 1000 * cpu_seconds(broker.pid, with_children=True)
        figures["memory at the start, MB"] = peak_resident_bytes(broker.pid) / MIB
        figures["round trip, ms"] = round_trip_ms(broker.address, contender.creates_topics, round_trips)
        figures["memory after the round trips, MB"] = peak_resident_bytes(broker.pid) / MIB
        figures["first record of a later group, ms"] = 1000 * workloads.first_message(broker.address, TOPIC, "later")
        times = []
        for _ in range(CLEAN_BROKERS):
            begin = time.perf_counter()
            broker.clean()
            times.append(1000 * (time.perf_counter() - begin))
        figures["clean broker, ms"] = statistics.median(times)
    finally:
        broker.stop()
    return figures


def markdown(results: dict[str, Samples]) -> str:
    """The medians, one line for each contender."""
    names = list(next(iter(results.values())))
    lines = ["| | " + " | ".join(names) + " |", "|---|" + "---:|" * len(names)]
    for contender, samples in results.items():
        lines.append(f"| {contender} | " + " | ".join(figure(statistics.median(samples[n])) for n in names) + " |")
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> None:
    """Measures the contenders in turn."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--round-trips", type=int, default=1000)
    parser.add_argument("--odradek", type=Path, help="an installed command to measure, instead of the wheel")
    parser.add_argument("--only", nargs="+", choices=CONTENDERS, default=list(CONTENDERS))
    parser.add_argument("--output", type=Path, default=ROOT / "docs/developers/benchmarks.json")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="odradek-alternatives-") as place:
        scratch = Path(place)
        contenders = Workshop(scratch, options.odradek).prepare(options.only)
        results: dict[str, Samples] = {contender.name: {} for contender in contenders}
        for contender in contenders:  # so that the page cache has the files, and Python's modules are compiled
            contender.start(Path(tempfile.mkdtemp(dir=scratch))).stop()
        print("measuring", flush=True)
        for _ in range(options.rounds):
            for contender in contenders:
                for what, value in measure(contender, Path(tempfile.mkdtemp(dir=scratch)), options.round_trips).items():
                    results[contender.name].setdefault(what, []).append(value)
    print(markdown(results))
    settings = {"rounds": options.rounds, "cores": os.cpu_count(), "round_trips": options.round_trips}
    save(options.output, settings, results, "alternatives")


if __name__ == "__main__":
    main()
