"""``odradek groups``: its arguments, its files, lag in seconds, and the members that a rebalance waits for."""

import asyncio
import io
import json
import re
from pathlib import Path
from typing import Any

import click
import pytest

from odradek.client.admin import Admin, GroupDescription, MemberDescription, NewTopic
from odradek.client.admin.record_times import NextRecord, RecordTimeAdmin
from odradek.client.commands.command_config import admin_settings, read_properties
from odradek.client.commands.groups.command import groups
from odradek.client.commands.groups.csv import csv_text, parse_plan
from odradek.client.commands.groups.offsets import GroupOffsetRow, seconds_behind
from odradek.client.commands.groups.rebalance import waits
from odradek.client.commands.groups.reset_target import parse_datetime, parse_duration_ms
from odradek.client.commands.progress import Progress
from odradek.client.commands.running import CommandError
from odradek.client.commands.topic_partitions import parse_topic_partitions
from odradek.client.producer import Producer
from odradek.client.types import OffsetAndMetadata, TopicPartition
from odradek.protocol.common.wall_clock import clock_ms

HOUR_MS = 3_600_000
DAY_MS = 24 * HOUR_MS


@pytest.mark.parametrize(
    ("text", "milliseconds"),
    [
        ("PT1H", HOUR_MS),
        ("P2DT3H4M5.678S", 2 * DAY_MS + 3 * HOUR_MS + 4 * 60_000 + 5678),
        ("pt0.5s", 500),
        ("-P1D", -DAY_MS),
        ("PT-6H+3M", -6 * HOUR_MS + 3 * 60_000),
        ("-PT-6H+3M", 6 * HOUR_MS - 3 * 60_000),
        ("PT-0.5S", -500),
        ("P0D", 0),
    ],
)
def test_durations_are_read_as_java_reads_them(text: str, milliseconds: int) -> None:
    """The cases are those of ``java.time.Duration.parse``'s documentation."""
    assert parse_duration_ms(text) == milliseconds


@pytest.mark.parametrize("text", ["", "P", "PT", "P1DT", "1H", "PT1", "P1H", "PT1S2M", "one hour"])
def test_what_is_no_duration_is_refused(text: str) -> None:
    with pytest.raises(click.UsageError, match="must be like P1DT2H3M4S"):
        parse_duration_ms(text)


def test_times_are_exact_and_in_utc_without_an_offset() -> None:
    assert parse_datetime("1970-01-01T00:00:00.001") == 1
    assert parse_datetime("2023-11-14T22:13:20.123") == 1_700_000_000_123
    assert parse_datetime("2023-11-15T00:13:20.123+02:00") == 1_700_000_000_123
    with pytest.raises(click.UsageError, match="must be like"):
        parse_datetime("yesterday")


def test_csv_is_quoted_as_kafka_quotes_it() -> None:
    """Jackson quotes a value that is longer than 24 characters, or has a character below the hyphen."""
    long = "a-topic-of-25-characters."
    offsets = {"my group": {TopicPartition("t", 1): 5, TopicPartition("t", 0): 3}, 'g"1': {TopicPartition(long, 0): 7}}
    text = csv_text(offsets, with_group=True)
    assert text == f'"g""1","{long}",0,7\n"my group",t,0,3\n"my group",t,1,5\n'
    assert parse_plan(text, ["my group", 'g"1'], "f") == offsets
    alone = csv_text({"g": {TopicPartition(long[:24], 2): 9}}, with_group=False)
    assert alone == f"{long[:24]},2,9\n"
    assert parse_plan(alone + "\n", ["g"], "f") == {"g": {TopicPartition(long[:24], 2): 9}}
    assert parse_plan("x,t,0,1\ng,t,0,2\n", ["g"], "f")["g"] == {TopicPartition("t", 0): 2}
    assert parse_plan("", ["g"], "f") == {}


@pytest.mark.parametrize(
    ("text", "group_ids", "shape"),
    [
        ("t,0,1\nt,x,1\n", ["g"], "line 2: 't,x,1' is not topic,partition,offset"),
        ("t,0,1\n", ["g", "h"], "line 1: 't,0,1' is not group,topic,partition,offset"),
        ("g,t,0,1\nt,0,1\n", ["g"], "line 2: 't,0,1' is not group,topic,partition,offset"),
    ],
)
def test_a_line_that_is_no_plan_is_named(text: str, group_ids: list[str], shape: str) -> None:
    with pytest.raises(click.UsageError, match=shape):
        parse_plan(text, group_ids, "plan.csv")


def test_partitions_of_a_topic_may_be_named_one_by_one() -> None:
    assert parse_topic_partitions(["t:0,2", "u", "t:1,2", "v:3", "v", "u:1"]) == {"t": [0, 2, 1], "u": None, "v": None}


WRONG = {
    "--describe takes one of these options": ["--describe"],
    "--reset-offsets takes one of these options: --all-groups, --group": ["--reset-offsets", "--to-latest"],
    "One of the reset scopes should be defined": ["--reset-offsets", "--group", "g", "--to-latest"],
    "needs exactly one of these options: --to-earliest": ["--reset-offsets", "--group", "g", "--all-topics"],
    "only accepts one of --execute and --dry-run": [
        *("--reset-offsets", "--group", "g", "--all-topics", "--to-latest", "--execute", "--dry-run")
    ],
    "--export writes CSV": ["--reset-offsets", "--group", "g", "--all-topics", "--to-latest", "--export", "--json"],
    "go with --reset-offsets": ["--describe", "--group", "g", "--execute"],
    "takes at most one of these options": ["--describe", "--group", "g", "--members", "--offsets"],
    "does not take a value for --state": ["--describe", "--group", "g", "--state", "Empty"],
    "Valid types are: Classic, Consumer": ["--list", "--type", "share"],
    "Valid states are: PreparingRebalance": ["--list", "--state", "Gone"],
    "--consumer cannot be used with --share": ["--list", "--consumer", "--share"],
    "exactly one action": ["--list", "--describe"],
    "takes one of these options: --all-topics, --topic": ["--delete-offsets", "--group", "g"],
    "--delete removes whole groups": ["--delete", "--group", "g", "--topic", "t"],
}


@pytest.mark.parametrize("message", WRONG)
def test_flags_that_do_not_go_together(message: str, capfd: pytest.CaptureFixture[str]) -> None:
    """They are refused without a request to a broker."""
    assert groups(["--bootstrap-server", "127.0.0.1:1", *WRONG[message]]) == 2
    assert message in " ".join(capfd.readouterr().err.split())


def test_regular_expressions_are_those_of_re2(capfd: pytest.CaptureFixture[str]) -> None:
    assert groups(["--validate-regex", "orders-(eu|us)-.*"]) == 0
    assert capfd.readouterr().out == "The regular expression `orders-(eu|us)-.*` is valid.\n"
    assert groups(["--validate-regex", "(?!orders)", "--json"]) == 1
    verdict = json.loads(capfd.readouterr().out)
    assert (verdict["regex"], verdict["valid"]) == ("(?!orders)", False)


def test_the_settings_of_a_properties_file(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "admin.properties"
    path.write_text("# a comment\nclient.id = ops\nrequest.timeout.ms:5000\nretry.backoff.ms 7\nsend.buffer.bytes=1\n")
    settings = admin_settings(str(path), 1234)
    assert (settings.client_id, settings.request_timeout_ms, settings.retry_backoff_ms) == ("ops", 5000, 7)
    assert settings.default_api_timeout_ms == 1234
    assert capfd.readouterr().err == f"{path}: these settings have no effect here: send.buffer.bytes\n"
    path.write_text("security.protocol=SASL_SSL\n")
    with pytest.raises(CommandError, match=r"sasl\.mechanism is 'GSSAPI' \(Java's default\)"):
        admin_settings(str(path), 1)
    path.write_text("request.timeout.ms=soon\n")
    with pytest.raises(CommandError, match=r"request\.timeout\.ms=soon must be a number"):
        admin_settings(str(path), 1)
    assert read_properties("a=b=c\n!x\nlong=1,\\\n2\nempty\n") == {"a": "b=c", "long": "1,2", "empty": ""}


class Terminal(io.StringIO):
    """Standard error that is a terminal."""

    def isatty(self) -> bool:
        """Returns True."""
        return True


def test_progress_is_shown_after_a_second_and_goes_away() -> None:
    now_s = [0.0]
    terminal = Terminal()
    with Progress("groups", 5000, stream=terminal, clock_s=lambda: now_s[0]) as progress:
        for now_s[0], done in ((0.5, 200), (1.1, 400), (1.2, 600), (1.4, 1200)):
            progress.at(done)
    assert terminal.getvalue().split("\r") == ["", "400 of 5,000 groups", "1,200 of 5,000 groups", " " * 21, ""]
    silent = io.StringIO()
    with Progress("groups", 5000, stream=silent, clock_s=lambda: 0.0) as progress:
        progress.at(1)
    assert silent.getvalue() == ""


def member(number: int, epoch: int, owned: list[int], target: list[int]) -> MemberDescription:
    """A member of the consumer protocol over topic t."""
    return MemberDescription(
        f"m{number}",
        None,
        f"client{number}",
        "/10.0.0.1",
        tuple(TopicPartition("t", n) for n in owned),
        tuple(TopicPartition("t", n) for n in target),
        epoch,
        True,
    )


def consumer_group(members: list[MemberDescription], *, epoch: int, target_epoch: int) -> GroupDescription:
    """A group that reconciles."""
    return GroupDescription(
        "g", "Reconciling", "Consumer", "consumer", "uniform", 1, "h:1", members, epoch, target_epoch
    )


def test_whom_a_reconciliation_waits_for() -> None:
    """m1 has not confirmed that it gave up t-1, and m2 waits for that."""
    group = consumer_group([member(1, 4, [0], [0]), member(2, 5, [], [1])], epoch=5, target_epoch=5)
    assert waits(group) == [
        "Waits for m1 (client1 at 10.0.0.1): at epoch 4, has not confirmed epoch 5.",
        "m2 (client2 at 10.0.0.1) waits for t-1.",
    ]
    owner = consumer_group([member(1, 4, [0, 1], [0]), member(2, 5, [], [1])], epoch=6, target_epoch=5)
    assert waits(owner) == [
        "The target assignment of epoch 6 is not computed yet.",
        "Waits for m1 (client1 at 10.0.0.1): at epoch 4, has not confirmed epoch 5; must revoke t-1.",
        "m2 (client2 at 10.0.0.1) waits for t-1, still owned by m1.",
    ]
    assert waits(consumer_group([member(1, 5, [0], [0])], epoch=5, target_epoch=5)) == []
    classic = GroupDescription("g", "PreparingRebalance", "Classic", "consumer", "", 1, "h:1", [])
    assert waits(classic) == []


@pytest.mark.parametrize(
    ("lag", "next_record", "seconds"),
    [
        (3, NextRecord(7, 1_000), 9.0),
        (3, NextRecord(7, 12_000), 0),  # a producer's clock that is ahead
        (3, None, 0.0),  # only markers and aborted records are left
        (0, None, 0.0),
        (3, NextRecord(7, -1), None),  # a record without a timestamp
        (-2, None, None),  # the log was truncated to before the committed offset
        (None, None, None),
    ],
)
def test_what_lag_in_seconds_means(lag: int | None, next_record: NextRecord | None, seconds: float | None) -> None:
    row = GroupOffsetRow("g", "t", 0, None, 7, 7 if lag is None else 7 + lag, lag, None, None, None)
    assert seconds_behind(row, next_record, 10_000) == seconds


async def test_the_next_record_is_read_not_guessed(bootstrap: str, name: str) -> None:
    """With large batches, a log whose start was deleted, and offsets at and after the end."""
    async with Admin(bootstrap) as admin:
        await admin.create_topics([NewTopic(name, 3, 1)])
    partitions = [TopicPartition(name, number) for number in range(3)]
    async with Producer(bootstrap) as producer:
        for partition in partitions:
            for n in range(4):
                value = bytes(100_000 if n % 2 else 10)
                await producer.send_and_wait(name, value, partition=partition.partition, timestamp_ms=1000 + n)
    async with Admin(bootstrap) as admin:
        await admin.delete_records({partitions[2]: 3})
        times = RecordTimeAdmin.beside(admin)
        found = await times.next_records({partitions[0]: (1, 4), partitions[1]: (3, 4), partitions[2]: (0, 4)})
        assert found == {
            partitions[0]: NextRecord(1, 1001),
            partitions[1]: NextRecord(3, 1003),
            partitions[2]: NextRecord(3, 1003),
        }
        nothing = await times.next_records({partitions[0]: (4, 4), partitions[1]: (9, 4), partitions[2]: (0, 2)})
        assert nothing == dict.fromkeys(partitions)
        assert await times.next_records({partitions[0]: (4, 9)}) == {partitions[0]: None}


async def test_lag_in_seconds(bootstrap: str, name: str, capfd: pytest.CaptureFixture[str]) -> None:
    now_ms = clock_ms()
    async with Producer(bootstrap) as producer:
        for hours in (5, 3, 2):
            await producer.send_and_wait(name, b"v", partition=0, timestamp_ms=now_ms - hours * HOUR_MS)
    async with Admin(bootstrap) as admin:
        await admin.alter_group_offsets(name, {TopicPartition(name, 0): OffsetAndMetadata(1)})
    document = (await _described(bootstrap, capfd, name))[0]
    assert 3 * 3600 <= document["maxLagSeconds"] < 4 * 3600
    assert document["partitions"][0]["nextRecord"] == {"offset": 1, "timestamp": now_ms - 3 * HOUR_MS}
    await _run(["--bootstrap-server", bootstrap, "--describe", "--group", name, "--lag-seconds"])
    header, row = [line.split() for line in capfd.readouterr().out.splitlines() if line]
    assert header[5:7] == ["LAG", "LAG-SECONDS"]
    assert row[5] == "2"
    assert re.fullmatch(r"1\d{4}\.\d{3}", row[6])


async def _described(bootstrap: str, capfd: pytest.CaptureFixture[str], group: str) -> Any:
    capfd.readouterr()
    await _run(["--bootstrap-server", bootstrap, "--describe", "--group", group, "--lag-seconds", "--json"])
    return json.loads(capfd.readouterr().out)


async def _run(arguments: list[str]) -> None:
    assert await asyncio.to_thread(groups, arguments) == 0
