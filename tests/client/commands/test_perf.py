"""``odradek perf`` prints the same as Kafka's performance tools, and its counts match the records of the broker."""

import os
import random
import re
from datetime import datetime
from pathlib import Path

import pytest

from odradek.__main__ import KAFKA_TOOLS, asked
from odradek.client.commands.perf.command import perf
from odradek.client.commands.perf.consume_stats import ConsumeStats
from odradek.client.commands.perf.date_format import check_pattern, formatted
from odradek.client.commands.perf.payloads import numbers, one_of, random_letters
from odradek.client.commands.perf.produce_stats import ProduceStats
from support.kafka.tools import KafkaTools

from ..command_shell import Shell

NUMBER = re.compile(r"\d+(?:\.\d+)?(?:E-?\d+)?")
SUMMARY = (
    r"{} records sent, [\d.]+ records/sec \([\d.]+ MB/sec\), [\d.]+ ms avg latency, [\d.]+ ms max latency, "
    r"\d+ ms 50th, \d+ ms 95th, \d+ ms 99th, \d+ ms 99.9th\."
)
PACKAGE = "org.apache.kafka.tools"


def shape(text: str) -> list[str]:
    """The lines without their numbers."""
    return [NUMBER.sub("#", line) for line in text.splitlines()]


class Perf:
    """Runs ``odradek perf`` against one broker."""

    def __init__(self, shell: Shell, capfd: pytest.CaptureFixture[bytes]) -> None:
        self.shell, self._capfd = shell, capfd

    def run(self, *arguments: str) -> tuple[int, str, str]:
        self._capfd.readouterr()
        code = perf(list(arguments))
        out, err = self._capfd.readouterr()
        return code, out.decode(), err.decode()

    def lines(self, tool: str, *arguments: str) -> list[str]:
        """Standard output of a tool that must succeed."""
        code, out, err = self.run(tool, "--bootstrap-server", self.shell.bootstrap, *arguments)
        assert code == 0, err
        return out.splitlines()

    def stored(self, topic: str) -> int:
        """The number of records that the topic has."""
        lines = self.shell.out("get-offsets", "--topic", topic).splitlines()
        return sum(int(line.rpartition(":")[2]) for line in lines)


@pytest.fixture
def perf_tool(shell: Shell, capfdbinary: pytest.CaptureFixture[bytes]) -> Perf:
    return Perf(shell, capfdbinary)


def test_all_records_are_stored_and_counted(perf_tool: Perf, name: str) -> None:
    perf_tool.shell.create(name, "--partitions", "3")
    limits = ["--topic", name, "--num-records", "5000", "--throughput", "-1"]
    [summary] = perf_tool.lines("produce", *limits, "--record-size", "100")
    assert re.fullmatch(SUMMARY.format(5000), summary)
    assert perf_tool.stored(name) == 5000
    code, out, err = perf_tool.run(
        "consume", "--bootstrap-server", perf_tool.shell.bootstrap, "--topic", name, "--num-records", "5000"
    )
    header, read = out.splitlines()
    assert (code, header.split(", ")[4]) == (0, "data.consumed.in.nMsg")
    assert read.split(", ")[4] == "5000"
    assert read.split(", ")[2] == f"{5000 * 100 / 1024 / 1024:.4f}"
    assert "100.00 %" in err, "the histogram"


def test_values_are_random_letters_lines_of_a_file_or_numbers(perf_tool: Perf, name: str, tmp_path: Path) -> None:
    perf_tool.shell.create(name)
    limits = ["--topic", name, "--num-records", "40", "--throughput", "-1"]
    perf_tool.lines("produce", *limits, "--record-size", "7")
    lines = tmp_path / "lines"
    lines.write_text("one;two;")
    reading = perf_tool.lines("produce", *limits, "--payload-file", str(lines), "--payload-delimiter", ";")
    assert reading[:2] == [f"Reading payloads from: {lines}", "Number of records read: 2"]
    perf_tool.lines("produce", *limits, "--payload-monotonic")
    values = perf_tool.shell.out("consume", "--topic", name, "--from-beginning", "--max-messages", "120").splitlines()
    assert all(re.fullmatch("[A-Z]{7}", value) for value in values[:40])
    assert set(values[40:80]) == {"one", "two"}
    assert values[80:] == [str(number) for number in range(40)]


def test_keys_are_numbers_in_turn_or_random_ones_of_a_seed(perf_tool: Perf, name: str) -> None:
    def keys(topic: str, *arguments: str) -> list[tuple[str, ...]]:
        perf_tool.shell.create(topic, "--partitions", "3")
        limits = ["--topic", topic, "--num-records", "40", "--throughput", "-1", "--payload-monotonic"]
        [summary] = perf_tool.lines("produce", *limits, *arguments)
        assert re.fullmatch(SUMMARY.format(40), summary)
        read = ["--from-beginning", "--max-messages", "40", "--property", "print.key=true"]
        lines = perf_tool.shell.out(
            "consume", "--topic", topic, *read, "--property", "print.partition=true"
        ).splitlines()
        return [tuple(line.split("\t")) for line in lines]

    in_turn = keys(name, "--record-key-range", "7", "--key-distribution", "range")
    assert all(int(key) == int(value) % 7 for _, key, value in in_turn)
    assert len({(key, partition) for partition, key, _ in in_turn}) == 7, "each key has its partition"
    by_value = [
        sorted((int(value), key) for _, key, value in keys(f"{name}-{turn}", *arguments))
        for turn, arguments in enumerate(
            [("--record-key-range", "5", "--key-distribution", "random", "--random-seed", seed) for seed in "001"]
        )
    ]
    assert by_value[0] == by_value[1] != by_value[2]
    assert {key for _, key in by_value[0]} == set("01234")


def test_transactions_are_committed(perf_tool: Perf, name: str) -> None:
    perf_tool.shell.create(name)
    arguments = ["--topic", name, "--num-records", "3000", "--throughput", "-1", "--record-size", "1000"]
    [summary] = perf_tool.lines("produce", *arguments, "--transactional-id", name, "--transaction-duration-ms", "1")
    assert re.fullmatch(SUMMARY.format(3_000), summary)
    read = ["--isolation-level", "read_committed", "--from-beginning", "--until-end"]
    assert len(perf_tool.shell.out("consume", "--topic", name, *read).splitlines()) == 3_000
    assert perf_tool.stored(name) > 3_001, "more than one transaction: each has a marker"


def test_the_rate_is_limited_and_the_warm_up_summarized_apart(perf_tool: Perf, name: str) -> None:
    perf_tool.shell.create(name)
    code, out, err = perf_tool.run(
        "produce", "--topic", name, "--num-records", "150", "--record-size", "10", "--throughput", "1000",
        "--producer-props", f"bootstrap.servers={perf_tool.shell.bootstrap}", "linger.ms=0", "--warmup-records", "50",
    )  # fmt: skip
    assert (code, "--producer-props has been deprecated" in err) == (0, True), err
    warming, total, steady = out.splitlines()
    assert warming.startswith("Warmup first 50 records.")
    assert re.fullmatch(SUMMARY.format(150), total)
    assert re.fullmatch(SUMMARY.format("100 steady state"), steady)
    assert float(total.split()[3]) <= 1000, "records a second"


def test_a_consumer_that_gets_too_little_says_so(perf_tool: Perf, name: str) -> None:
    perf_tool.shell.create(name)
    perf_tool.shell.produce(name, "a\nb\n")
    lines = perf_tool.lines(
        "consume", "--include", f"{name}.*", "--messages", "3", "--timeout", "0", "--hide-header",
        "--date-format", "HH.mm", "--group", name,
    )  # fmt: skip
    assert lines[0].startswith("WARNING: Exiting before consuming the expected number of records: timeout (0 ms)")
    assert re.match(r"\d\d\.\d\d, \d\d\.\d\d, ", lines[1])


def test_each_record_is_sent_and_read(perf_tool: Perf, name: str) -> None:
    parts = ["--record-key-size", "3", "--num-headers", "2", "--record-header-key-size", "4"]
    sizes = ["--topic", name, "--num-records", "30", "--producer-acks", "all", "--record-size", "20"]
    lines = perf_tool.lines("end-to-end", *sizes, *parts, "--record-header-size", "-1")
    created = f'Topic "{name}" does not exist. Will create topic with 1 partition(s) and replication factor = 1'
    assert lines[0] == created
    assert re.fullmatch(r"0\t[\d.]+", lines[1])
    assert re.fullmatch(r"Avg latency: [\d.]+ ms", lines[2])
    assert re.fullmatch(r"Percentiles: 50th = \d+, 99th = \d+, 99.9th = \d+", lines[3])
    assert perf_tool.stored(name) == 30
    code, out, err = perf_tool.run("end-to-end", perf_tool.shell.bootstrap, name, "5", "1", "10")
    assert (code, "Positional argument usage is deprecated" in err) == (0, True)
    assert len(out.splitlines()) == 3


PRODUCE = ["produce", "--topic", "t", "--throughput", "-1"]
SMALL = ["--num-records", "5", "--record-size", "1"]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ([*PRODUCE, "--num-records", "0", "--record-size", "1"], "--num-records should be greater than zero."),
        ([*PRODUCE, "--num-records", "5"], "exactly one of --record-size, --payload-file and --payload-monotonic"),
        ([*PRODUCE, "--num-records", "5", "--record-size", "1", "--warmup-records", "5"], "strictly fewer"),
        ([*PRODUCE, "--num-records", "5", "--record-size", "1", "--print-metrics"], "docs/metrics.md"),
        (
            [
                *PRODUCE,
                "--num-records",
                "5",
                "--record-size",
                "1",
                "--producer-props",
                "a=1",
                "--command-property",
                "b=1",
            ],
            "cannot be specified together",
        ),
        ([*PRODUCE, *SMALL, "--key-distribution", "range"], "--record-key-range is required when"),
        ([*PRODUCE, *SMALL, "--record-key-range", "5"], "--key-distribution must be 'range' or 'random'"),
        (
            [*PRODUCE, *SMALL, "--key-distribution", "random", "--record-key-range", "0"],
            "--record-key-range should be greater than zero.",
        ),
        ([*PRODUCE, *SMALL, "--key-distribution", "RANGE"], "'RANGE' is not one of 'none', 'range', 'random'."),
        (["consume", "--topic", "t"], "Missing option '--num-records'"),
        (["consume", "--num-records", "1"], "Exactly one of --topic and --include"),
        (["consume", "--topic", "t", "--num-records", "1", "--date-format", "G"], "'G' of the pattern is not"),
        (["consume", "--topic", "t", "--num-records", "1", "--print-metrics"], "has no such metrics"),
        (["end-to-end", "h:1", "t", "5"], "Expected 5 or 6 positional arguments, but got 3"),
        (["end-to-end", "h:1", "t", "5", "0", "10"], "'0' is not one of"),
    ],
)
def test_wrong_usage(arguments: list[str], says: str, capfd: pytest.CaptureFixture[str]) -> None:
    assert perf(arguments) == 2
    assert says in " ".join(capfd.readouterr().err.split())


@pytest.mark.parametrize("suffix", ["", ".sh"])
def test_the_tools_are_found_by_their_names(suffix: str) -> None:
    for tool, words in (
        ("kafka-producer-perf-test", ["perf", "produce"]),
        ("kafka-consumer-perf-test", ["perf", "consume"]),
        ("kafka-e2e-latency", ["perf", "end-to-end"]),
    ):
        assert tool in KAFKA_TOOLS
        assert asked(f"/opt/kafka/bin/{tool}{suffix}", ["--help"]) == [*words, "--help"]


def test_the_lines_of_intervals() -> None:
    stats, steady = ProduceStats(0, 5_000), ProduceStats(0, 5_000, steady=True)
    for one in (stats, steady):
        assert one.record(2, 10, 1024 * 1024, 1_000) == []
    line = "20 records sent, 4.0 records/sec (0.40 MB/sec), 3.0 ms avg latency, 4.0 ms max latency."
    assert stats.record(4, 10, 1024 * 1024, 5_000) == [line]
    assert steady.record(4, 10, 1024 * 1024, 5_000) == ["In steady state.", line]
    assert stats.record(4, 10, 1024 * 1024, 9_000) == []
    assert stats.summary(10_000) == (
        "30 records sent, 3.000000 records/sec (0.30 MB/sec), 3.33 ms avg latency, 4.00 ms max latency, "
        "4 ms 50th, 4 ms 95th, 4 ms 99th, 4 ms 99.9th."
    )
    read = ConsumeStats(0, 5_000, "SSS")
    read.rebalanced(1_000)
    assert read.add(10, 1024 * 1024, 4_999) is None
    assert read.add(10, 1024 * 1024, 5_000) == "000, 0, 2.0000, 0.4000, 20, 4.0000, 1000, 4000, 0.5000, 5.0000"
    assert read.summary(11_000) == "000, 000, 2.0000, 0.1818, 20, 1.8182, 1000, 10000, 0.2000, 2.0000"


@pytest.mark.parametrize("size", [8, 100, 1_000_000])
def test_random_values_differ_within_a_batch_also_where_the_pool_begins_again(size: int) -> None:
    batch_size = 3 * 1024 * 1024
    values = random_letters(size, random.Random(0), batch_size)
    count = min(1_000, batch_size // size)
    for first in range(0, 200_000, 19_990):
        taken = values.take(first, count)
        assert len(set(taken)) == len(taken) == count
        assert {len(value) for value in taken} == {size}
    assert values.largest == size


def test_values_know_the_size_of_the_largest() -> None:
    """From it follows how many values surely fit in a batch."""
    assert one_of([b"a", b"ccc", b""], random.Random(0)).largest == 3
    assert numbers(1_234).largest == 4
    for source in (
        random_letters(7, random.Random(0), 1_000),
        numbers(99),
        one_of([b"a", b"ccc", b""], random.Random(0)),
    ):
        values = source.take(5, 20)
        assert source.size_of(values) == sum(map(len, values))
    assert numbers(9).take(7, 3) == [b"7", b"8", b"9"]


def test_times_are_written_as_java_writes_them() -> None:
    moment = datetime(2026, 1, 2, 3, 4, 5, 67_000)
    for pattern, text in (
        ("yyyy-MM-dd HH:mm:ss:SSS", "2026-01-02 03:04:05:067"),
        ("yy'at'H'' S", "26at3' 67"),
        ("d/M", "2/1"),
    ):
        check_pattern(pattern)
        assert formatted(pattern, moment) == text
    for pattern in ("EEE", "yyyy 'open"):
        with pytest.raises(ValueError, match="of the pattern"):
            check_pattern(pattern)


@pytest.mark.ci
@pytest.mark.java
def test_kafkas_tools_print_lines_of_the_same_shape(
    odradek: str, tools: KafkaTools, name: str, capfdbinary: pytest.CaptureFixture[bytes], tmp_path: Path
) -> None:
    ours = Perf(Shell(odradek, capfdbinary, tmp_path), capfdbinary)
    ours.shell.create(name)
    for ours_is, kafkas, arguments in (
        (
            "produce",
            "ProducerPerformance",
            [
                "--topic",
                name,
                "--num-records",
                "2000",
                "--record-size",
                "50",
                "--throughput",
                "-1",
                "--warmup-records",
                "9",
            ],
        ),
        ("consume", "ConsumerPerformance", ["--topic", name, "--num-records", "2000"]),
        (
            "end-to-end",
            "EndToEndLatency",
            ["--topic", name, "--num-records", "20", "--producer-acks", "1", "--record-size", "10"],
        ),
    ):
        theirs = tools.run(f"{PACKAGE}.{kafkas}", odradek, *arguments)
        assert theirs.code == 0, theirs.err
        assert shape(os.linesep.join(ours.lines(ours_is, *arguments))) == shape(theirs.out)
    assert ours.stored(name) == 4040
