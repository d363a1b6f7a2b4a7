"""The cleaner of a broker with its threads and processes, on directories and a clock of the test."""

import asyncio
import random
import socket
from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest

from odradek.broker.config.server_config import ServerConfig
from odradek.broker.metrics.cleaner_state import FIRST_RETRY_MS
from odradek.broker.metrics.endpoint import MetricsEndpoint
from odradek.broker.metrics.log_metrics import LogMetrics
from odradek.broker.network.listening import BindError
from odradek.broker.replicas.cleaner.cleaner import LOGS_A_STEP, SEGMENTS_A_STEP, LogCleaner
from odradek.broker.server.broker_server import BrokerServer
from odradek.broker.server.surroundings import FixedSettings
from odradek.protocol.common.wall_clock import clock_ms
from odradek.protocol.records.batch import iterate_headers
from odradek.protocol.records.builder import encode_batch
from odradek.protocol.records.record import Record, decode_records
from odradek.storage.directory.directory_retention import is_retained
from odradek.storage.directory.log_directory import LogDirectory
from odradek.storage.files.checkpoints import CLEANER_OFFSET_CHECKPOINT, read_offset_checkpoint
from odradek.storage.files.files import Files
from odradek.storage.log.log import Log
from odradek.storage.log.log_config import LogConfig
from support.eventually import eventually_in_loop

HOUR_MS = 3_600_000
THREAD_BYTES = FixedSettings().cleaner_thread_bytes
COMPACT = LogConfig(cleanup_policy=frozenset({"compact"}), segment_bytes=20_000, min_cleanable_dirty_ratio=0.01)


async def run_once(cleaner: LogCleaner) -> None:
    """Runs one whole pass: cleans the due logs, applies retention, writes checkpoints. Waits for the rounds."""
    await cleaner._begin_rounds()
    if cleaner._rounds:
        await asyncio.wait(cleaner._rounds)


class Clock:
    """Milliseconds since the epoch, moved by the test."""

    def __init__(self) -> None:
        self.now_ms = clock_ms()  # retention of emptied segments uses the file's time

    def __call__(self) -> int:
        return self.now_ms


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def directory(tmp_path: Path) -> Iterator[LogDirectory]:
    opened = LogDirectory.open(tmp_path / "logs", chance=random.Random(1))
    opened.format("MkU3OEVBNTcwNTJENDM2Qg", 1, b"d" * 16)
    yield opened
    opened.abort()


@pytest.fixture
async def cleaner(directory: LogDirectory, clock: Clock) -> AsyncIterator[LogCleaner]:
    made = LogCleaner([directory], ServerConfig.load, clock, THREAD_BYTES)
    yield made
    await made.stop()


def topic(directory: LogDirectory, name: str, clock: Clock, config: LogConfig = COMPACT, *, size: int = 100_000) -> Log:
    """A partition with this many bytes of records of ten keys, all in sealed segments."""
    log = directory.open_log(name, 0, config, clock(), b"t" * 16)
    number = 0
    while log.segments.size_in_bytes < size:
        records = [Record(i, clock(), b"key-%d" % (i % 10), b"%d" % number + bytes(90), []) for i in range(50)]
        log.appender.append_as_leader(encode_batch(records), 0, clock())
        number += 1
    log.roll(clock())
    log.flusher.flush()
    return log


def values(log: Log) -> dict[bytes | None, bytes | None]:
    found: dict[bytes | None, bytes | None] = {}
    for segment in log.segments:
        data = segment.path.read_bytes()
        for position, header in iterate_headers(data):
            for record in decode_records(data, header, position):
                assert record.key not in found, "one value for each key"
                found[record.key] = record.value
    return found


def is_cleaned(log: Log) -> bool:
    return log.log_files.cleaning is not None


async def begun(log: Log) -> None:
    """Waits until a round over the log has begun."""
    async with asyncio.timeout(60):
        while not is_cleaned(log):  # noqa: ASYNC110 nothing tells when a round has begun
            await asyncio.sleep(0)


def checkpoint(directory: LogDirectory) -> dict[tuple[str, int], int]:
    return read_offset_checkpoint(Files(), directory.path / CLEANER_OFFSET_CHECKPOINT)


@pytest.mark.parametrize("size", [THREAD_BYTES // 4, THREAD_BYTES + THREAD_BYTES // 4], ids=["thread", "process"])
async def test_a_round_cleans_and_is_written_down(
    directory: LogDirectory, cleaner: LogCleaner, clock: Clock, size: int
) -> None:
    log = topic(directory, "compacted", clock, size=size)
    untouched = topic(directory, "deleted", clock, LogConfig())
    before = untouched.segments.size_in_bytes
    await run_once(cleaner)
    assert len(values(log)) == 10
    assert checkpoint(directory) == {("compacted", 0): log.log_end_offset}
    assert untouched.segments.size_in_bytes == before
    state = cleaner.state
    assert (state.rounds, state.in_progress, state.uncleanable) == (1, set(), {})
    assert state.last_round.bytes_read >= size
    assert 0 < state.last_round.bytes_written < size / 5
    await run_once(cleaner)
    assert state.rounds == 1, "nothing is dirty any more"
    assert state.max_dirty_ratio == 0


async def test_the_filthiest_comes_first(directory: LogDirectory, cleaner: LogCleaner, clock: Clock) -> None:
    for name, part in (("a", 0.2), ("b", 0.9), ("c", 0.5)):
        log = topic(directory, name, clock)
        bases = log.segments.base_offsets
        directory.cleaner_offsets[name, 0] = bases[int((len(bases) - 1) * (1 - part))]
    order = []
    while cleaner.state.rounds < 3:
        before = dict(directory.cleaner_offsets)
        await run_once(cleaner)
        order += [key[0] for key, offset in directory.cleaner_offsets.items() if before[key] != offset]
    assert order == ["b", "c", "a"]


async def test_damage_is_shown_others_go_on_and_it_is_tried_again(
    directory: LogDirectory, cleaner: LogCleaner, clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    damaged, sound = topic(directory, "damaged", clock), topic(directory, "sound", clock)
    directory.cleaner_offsets["sound", 0] = sound.segments.base_offsets[1]  # the damaged log is dirtier, so it is first
    path = damaged.segments.first.path
    good = path.read_bytes()
    path.write_bytes(good[:5000] + bytes([good[5000] ^ 4]) + good[5001:])
    for _ in range(2):
        await run_once(cleaner)
    assert len(values(sound)) <= 20
    refusal = cleaner.state.uncleanable["damaged", 0]
    assert f"{path}, position 0, offset 0: Record is corrupt (stored crc" in refusal.reason
    errors = [record.getMessage() for record in caplog.records if record.levelname == "ERROR"]
    assert len(errors) == 1, "one line"
    assert refusal.reason in errors[0]
    assert ("damaged", 0) not in checkpoint(directory)

    metrics = LogMetrics([directory], lambda: cleaner.state, clock)
    text = await asyncio.wait_for(scrape(metrics), 10)
    shown = next(line for line in text.splitlines() if line.startswith("odradek_log_cleaner_uncleanable_attempts{"))
    assert refusal.reason in shown
    assert 'topic="damaged"' in shown
    assert shown.endswith(" 1.0")
    assert f'kafka_log_logcleanermanager_uncleanable_partitions_count{{logDirectory="{directory.path}"}} 1.0' in text
    waiting = next(
        line for line in text.splitlines() if line.startswith("kafka_log_logcleanermanager_uncleanable_bytes{")
    )
    assert float(waiting.split()[-1]) > 90_000

    clock.now_ms += FIRST_RETRY_MS
    await run_once(cleaner)
    assert cleaner.state.uncleanable["damaged", 0].attempts == 2
    path.write_bytes(good)
    clock.now_ms += 2 * FIRST_RETRY_MS
    await run_once(cleaner)
    assert not cleaner.state.uncleanable
    assert len(values(damaged)) == 10


async def test_as_many_rounds_at_a_time_as_there_are_threads_now(directory: LogDirectory, clock: Clock) -> None:
    """``log.cleaner.threads`` changes during a long round."""
    settings = ["log.cleaner.backoff.ms=0", "log.cleaner.io.max.bytes.per.second=1000", "log.cleaner.threads=1"]
    configs = {threads: ServerConfig.load(None, [*settings, f"log.cleaner.threads={threads}"]) for threads in (1, 2)}
    now, asked = 1, 0

    def config() -> ServerConfig:
        nonlocal asked
        asked += 1
        return configs[now]

    logs = [topic(directory, name, clock) for name in "abc"]
    cleaner = LogCleaner([directory], config, clock, THREAD_BYTES)
    cleaner.start()
    try:
        await asyncio.wait([asyncio.create_task(begun(log)) for log in logs], return_when=asyncio.FIRST_COMPLETED)
        before = asked
        await eventually_in_loop("it looks for work again, with its one thread busy", lambda: asked >= before + 4)
        assert len(cleaner.state.in_progress) == 1
        now = 2
        await eventually_in_loop("a second round has begun", lambda: sum(map(is_cleaned, logs)) >= 2)
        assert len(cleaner.state.in_progress) == 2
    finally:
        await cleaner.stop()


async def test_compact_and_delete_together(directory: LogDirectory, cleaner: LogCleaner, clock: Clock) -> None:
    both = replace(COMPACT, cleanup_policy=frozenset({"compact", "delete"}), retention_ms=HOUR_MS)
    log = topic(directory, "both", clock, both)
    compacted = topic(directory, "compacted", clock, replace(COMPACT, retention_ms=HOUR_MS))
    for _ in range(2):
        await run_once(cleaner)
    assert len(values(log)) == len(values(compacted)) == 10
    end = log.log_end_offset
    clock.now_ms += 2 * HOUR_MS
    assert not any(map(is_retained, directory.logs.values())), "a compacted log's segments are the cleaner's matter"
    await run_once(cleaner)
    assert values(log) == {}
    assert (log.log_start_offset, log.log_end_offset) == (end, end)
    assert len(values(compacted)) == 10, "compact alone keeps the latest for ever"


async def test_deleting_the_topic_ends_its_round(directory: LogDirectory, cleaner: LogCleaner, clock: Clock) -> None:
    log = topic(directory, "gone", clock, size=2 * THREAD_BYTES)
    cleaning = asyncio.create_task(run_once(cleaner))
    await begun(log)
    directory.delete_log("gone", 0, clock())
    await asyncio.wait_for(cleaning, 60)
    assert cleaner.state.in_progress == set()
    assert not cleaner.state.uncleanable, "a cleaner that is stopped has not failed"
    again = topic(directory, "gone", clock)
    await run_once(cleaner)
    assert len(values(again)) == 10
    assert checkpoint(directory) == {("gone", 0): again.log_end_offset}


async def test_a_stop_ends_a_round_and_leaves_nothing_behind(
    directory: LogDirectory, cleaner: LogCleaner, clock: Clock
) -> None:
    log = topic(directory, "big", clock, size=2 * THREAD_BYTES)
    before = log.segments.size_in_bytes
    cleaner.start()
    await begun(log)
    await asyncio.wait_for(cleaner.stop(), 60)
    assert not is_cleaned(log)
    assert log.segments.size_in_bytes == before
    assert not list(log.directory.glob("*.cleaned"))
    assert not list(log.directory.glob("*.swap"))


async def test_a_checkpoint_outside_the_log_is_reset_with_a_warning(
    directory: LogDirectory, cleaner: LogCleaner, clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    log = topic(directory, "reset", clock)
    directory.cleaner_offsets["reset", 0] = log.log_end_offset + 1
    await run_once(cleaner)
    assert len(values(log)) == 10
    warnings = [record.getMessage() for record in caplog.records if record.levelname == "WARNING"]
    assert len(warnings) == 1
    assert "larger than the log end offset" in warnings[0]


async def scrape(metrics: LogMetrics, path: str = "/metrics") -> str:
    endpoint = MetricsEndpoint(metrics)
    port = await endpoint.start("127.0.0.1", 0)
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(f"GET {path} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
    answer = (await reader.read()).decode()
    writer.close()
    endpoint.stop()
    return answer


async def test_metrics_have_the_names_of_kafkas(directory: LogDirectory, cleaner: LogCleaner, clock: Clock) -> None:
    log = topic(directory, "compacted", clock)
    before = log.segments.size_in_bytes
    await run_once(cleaner)
    rewritten = log.segments.size_in_bytes
    read = 2 * before  # read once for the keys, and once to filter
    clock.now_ms += 7
    answer = await asyncio.wait_for(scrape(LogMetrics([directory], lambda: cleaner.state, clock)), 10)
    assert answer.startswith("HTTP/1.1 200 OK\r\n")
    labels = '{partition="0",topic="compacted"}'
    for line in (
        f"kafka_log_log_size{labels} {float(log.segments.size_in_bytes)}",
        f"kafka_log_log_logstartoffset{labels} 0.0",
        f"kafka_log_log_logendoffset{labels} {float(log.log_end_offset)}",
        "kafka_log_logcleanermanager_time_since_last_run_ms 7.0",
        f"odradek_log_cleaner_read_bytes_total {float(read)}",
        f"odradek_log_cleaner_written_bytes_total {float(rewritten)}",
        f"kafka_log_logcleaner_cleaner_recopy_percent {float(100 * rewritten // read)}",
        "kafka_log_logcleanermanager_max_dirty_percent 100.0",
        f'kafka_log_logcleanermanager_uncleanable_partitions_count{{logDirectory="{directory.path}"}} 0.0',
        "odradek_log_cleaner_rounds_total 1.0",
    ):
        assert (
            line in answer
            or line.replace('partition="0",topic="compacted"', 'topic="compacted",partition="0"') in answer
        )
    topic(directory, "half", clock)
    half = directory.logs["half", 0]
    middle = directory.cleaner_offsets["half", 0] = half.segments.base_offsets[2]
    cleaned = sum(segment.size for segment in half.segments if segment.base_offset < middle)
    await run_once(cleaner)
    answer_then = await asyncio.wait_for(scrape(LogMetrics([directory], lambda: cleaner.state, clock)), 10)
    dirty_percent = int(100 * (1 - cleaned / before))
    assert f"kafka_log_logcleanermanager_max_dirty_percent {float(dirty_percent)}" in answer_then
    elsewhere = await asyncio.wait_for(scrape(LogMetrics([directory], lambda: None, clock), "/other"), 10)
    assert elsewhere.startswith("HTTP/1.1 404 ")


async def test_a_taken_port_of_the_metrics_is_named(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        overrides = ["listeners=PLAINTEXT://127.0.0.1:0", f"log.dirs={tmp_path}", f"odradek.metrics.listener={address}"]
        server = BrokerServer(ServerConfig.load(None, overrides))
        with pytest.raises(BindError, match=f"odradek.metrics.listener={address} can't be bound"):
            await server.start()


async def test_others_have_their_turn_while_it_passes_over_logs_that_are_not_compacted(
    directory: LogDirectory, clock: Clock
) -> None:
    """20,000 such logs used to block the event loop for 20 ms in a pass."""
    cleaner = LogCleaner([directory], ServerConfig.load, clock, THREAD_BYTES, others_a_step=8)
    for number in range(40):
        directory.open_log(f"deleted-{number}", 0, LogConfig(), clock(), b"t" * 16)
    turns = 0

    async def watch() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    watching = asyncio.create_task(watch())
    await run_once(cleaner)
    watching.cancel()
    await cleaner.stop()
    assert turns >= 4, "a turn after each eight logs"


async def test_others_have_their_turn_while_it_looks_at_many_logs(
    directory: LogDirectory, cleaner: LogCleaner, clock: Clock
) -> None:
    """The search for the filthiest log and retention of compacted logs both run in small steps."""
    both = replace(COMPACT, cleanup_policy=frozenset({"compact", "delete"}), retention_ms=HOUR_MS, segment_bytes=10_000)
    for number in range(4 * LOGS_A_STEP):
        directory.open_log(f"idle-{number}", 0, COMPACT, clock(), b"t" * 16)
    old = topic(directory, "old", clock, both, size=300_000)
    directory.cleaner_offsets["old", 0] = old.log_end_offset  # nothing to clean
    clock.now_ms += 2 * HOUR_MS
    seen = [len(old.segments)]

    async def watch() -> None:
        while True:
            seen.append(len(old.segments))
            await asyncio.sleep(0)

    watching = asyncio.create_task(watch())
    await run_once(cleaner)
    watching.cancel()
    assert seen[0] > 3 * SEGMENTS_A_STEP
    assert len(old.segments) == 1
    assert max(before - after for before, after in pairwise(seen)) <= SEGMENTS_A_STEP
    assert seen.count(seen[0]) >= 8, "four turns to choose, four to come to this log"


async def test_look_that_fails_unexpectedly_does_not_end_the_cleaner(
    directory: LogDirectory, clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    """The failure is logged, and the next look starts from the beginning, as after any round."""
    topic(directory, "t", clock)
    bugs = [KeyError("a bug")]

    def config() -> ServerConfig:
        if bugs:
            raise bugs.pop()
        return ServerConfig.load(None, ["log.cleaner.backoff.ms=100"])

    cleaner = LogCleaner([directory], config, clock, THREAD_BYTES)
    cleaner.start()
    try:
        await eventually_in_loop("the log is clean", lambda: ("t", 0) in checkpoint(directory))
    finally:
        await cleaner.stop()
    assert "log-cleaner: LogCleaner._run failed: KeyError" in caplog.text
