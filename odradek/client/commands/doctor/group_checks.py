"""A consumer group that the user names: its state, its commits beside what the logs still hold.

Owns: the checks of one group. Never does: joining it.
"""

from collections.abc import AsyncIterator, Iterator, Mapping
from difflib import get_close_matches
from typing import NamedTuple

from odradek.protocol.errors import ErrorCode

from ...admin.groups import GroupAdmin, GroupDescription
from ...admin.records import RecordAdmin
from ...admin.topics import TopicAdmin
from ...errors import AdminError
from ...types import TopicPartition
from .diagnosis import Diagnosis, Verdict, error, ok, warning

EARLIEST, END = -2, -1
REBALANCING = {"PreparingRebalance", "CompletingRebalance"}


class GroupChecksAdmin(GroupAdmin, RecordAdmin, TopicAdmin):
    """The requests of these checks."""


class Place(NamedTuple):
    """What is committed for a partition (None: nothing), and where its log starts and ends."""

    committed: int | None
    start: int
    end: int


async def check_group(admin: GroupChecksAdmin, group_id: str, topic: str | None) -> AsyncIterator[Diagnosis]:
    """All checks of a group: for the partitions that it committed or has assigned, and those of ``topic``."""
    try:
        group = (await admin.describe_groups([group_id]))[group_id]
    except AdminError as failure:
        yield await _absent(admin, group_id, failure.errors[group_id].error_code)
        return
    if group.state == "Dead":
        yield await _absent(admin, group_id, ErrorCode.GROUP_ID_NOT_FOUND)
        return
    committed = await admin.list_group_offsets(group_id)
    partitions = {*committed, *(one for member in group.members for one in member.assignment)}
    if topic is not None:
        described = await admin.describe_topics([topic])
        partitions |= {TopicPartition(topic, number) for number in described[topic].available}
    starts = await admin.list_offsets(dict.fromkeys(partitions, EARLIEST))
    ends = await admin.list_offsets(dict.fromkeys(partitions, END))
    places = {
        one: Place(committed[one].offset if one in committed else None, starts[one].offset, ends[one].offset)
        for one in sorted(partitions)
    }
    for diagnosis in judge_group(group, places):
        yield diagnosis


async def _absent(admin: GroupChecksAdmin, group_id: str, code: ErrorCode) -> Diagnosis:
    if code is not ErrorCode.GROUP_ID_NOT_FOUND:
        return error("group", f"{group_id}: {code.message}", "Look at the coordinator's log.")
    alike = get_close_matches(group_id, [group.group_id for group in await admin.list_groups()], 1)
    step = f"Did you mean {alike[0]}?" if alike else "A group exists from its first member or commit on."
    return error("group", f"no group is called {group_id}", step)


def judge_group(group: GroupDescription, places: Mapping[TopicPartition, Place]) -> Iterator[Diagnosis]:
    """The diagnoses for a group, by its description and by the place of each partition."""
    found = [diagnosis for one, place in places.items() if (diagnosis := _judge_place(one, place)) is not None]
    yield from found
    members = ", ".join(f"{member.client_id} at {member.host.lstrip('/')}" for member in group.members)
    if group.state in REBALANCING:
        text = f"{group.group_id} is in a rebalance ({group.state}) with {members}"
        step = (
            "A member that stays away holds it for its max.poll.interval.ms. Run this again: it is still a member then."
        )
        yield warning("group", text, step)
    elif not any(diagnosis.verdict is Verdict.ERROR for diagnosis in found):
        lag = sum(place.end - place.committed for place in places.values() if place.committed is not None)
        yield ok("group", f"{group.group_id} is {group.state}; members: {members or 'none'}; {lag:,} records behind")


def _judge_place(partition: TopicPartition, place: Place) -> Diagnosis | None:
    """A diagnosis if the group does not go on where it stopped."""
    step = "Choose where it goes on: odradek groups --reset-offsets, or auto.offset.reset=earliest in the consumer."
    if place.committed is None:
        skipped_records = place.end - place.start
        if not skipped_records:
            return None
        text = f"no offset is committed for {partition}: with auto.offset.reset=latest, the default, a consumer skips"
        return warning("group", f"{text} its {skipped_records:,} records", step)
    if place.committed < place.start:
        gone = place.start - place.committed
        text = f"the commit for {partition}, {place.committed}, is before the log's start, {place.start}"
        return warning("group", f"{text}: {gone:,} offsets are gone by retention or DeleteRecords", step)
    if place.committed > place.end:
        text = f"the commit for {partition}, {place.committed}, is after the log's end, {place.end}"
        return error("group", f"{text}: the topic was made anew, or lost records", step)
    return None
