"""The lag of groups over the last hour, sampled once a minute while a session has a group open.

Owns: a ring of samples for each group. Invariants: at most MOST_GROUPS groups with SAMPLES samples each, so memory is
fixed; without a session nothing is sampled. Works with any Kafka, because it asks as the group view does.
"""

import asyncio
import contextlib
import logging
from collections import deque
from collections.abc import Callable, Iterable
from typing import NamedTuple

from odradek.client.admin import GroupDescription
from odradek.client.errors import ClientError
from odradek.protocol.common.wall_clock import clock_ms
from odradek.protocol.errors import KafkaError

from ..arguments import ViewArguments
from ..context import Context, Json
from .groups import described, described_as, lag_of, positions_of, seconds_behind, types_of_groups

logger = logging.getLogger(__name__)

SAMPLES = 60
PERIOD_S = 60.0
MOST_GROUPS = 64
TIMED_PARTITIONS = 20
"""The partitions of a sample whose lag in seconds is read."""


class LagSample(NamedTuple):
    """The sum of a group's lags, and the largest lag in seconds, at a time."""

    at_ms: int
    records: int
    seconds: float | None


class Rings:
    """The samples of groups, and which groups were opened: these are sampled before others."""

    def __init__(self, now_ms: Callable[[], int] = clock_ms) -> None:
        """``now_ms``: the clock."""
        self._now_ms = now_ms
        self._rings: dict[str, deque[LagSample]] = {}
        self._opened: dict[str, None] = {}

    def opened(self, name: str) -> None:
        """Remembers that a group was opened. The last MOST_GROUPS count."""
        self._opened.pop(name, None)
        self._opened[name] = None
        if len(self._opened) > MOST_GROUPS:
            del self._opened[next(iter(self._opened))]

    def chosen(self, names: Iterable[str]) -> list[str]:
        """The groups of the next sample: those of the names that were opened, then others, MOST_GROUPS in all."""
        known = dict.fromkeys(names)
        opened = [name for name in reversed(self._opened) if name in known]
        return list(dict.fromkeys([*opened, *known]))[:MOST_GROUPS]

    def add(self, name: str, records: int, seconds: float | None) -> None:
        """Adds a sample. A group that is one too many replaces the one whose last sample is the oldest."""
        ring = self._rings.pop(name, None)
        if ring is None:
            ring = deque(maxlen=SAMPLES)
            if len(self._rings) >= MOST_GROUPS:
                del self._rings[next(iter(self._rings))]
        ring.append(LagSample(self._now_ms(), records, seconds))
        self._rings[name] = ring

    def of(self, name: str) -> list[LagSample]:
        """The samples of a group, the oldest first."""
        return list(self._rings.get(name, ()))


class LagHistory:
    """The samples of one session, and the task that takes them. A part of the session (``Context.part``)."""

    def __init__(self, context: Context) -> None:
        """Starts sampling."""
        self.rings = Rings()
        self._task = asyncio.ensure_future(keep_sampling(context, self.rings))

    async def close(self) -> None:
        """Ends sampling."""
        self._task.cancel()
        await asyncio.wait((self._task,))


async def sample(context: Context, history: Rings) -> None:
    """Takes one sample of up to MOST_GROUPS groups, one after the other. A group that fails has none this time."""
    types = await types_of_groups(context)
    for name in history.chosen(types):
        try:
            await sample_one(context, history, await described_as(context, name, types[name]))
        except KafkaError as error:
            logger.debug("no sample of group %s: %s", name, error)


async def sample_one(context: Context, history: Rings, group: GroupDescription) -> None:
    """Takes one sample of a group. Raises KafkaError."""
    positions = await positions_of(context, group)
    lag = lag_of(positions)
    if lag is not None:
        seconds = await seconds_behind(context, positions, TIMED_PARTITIONS)
        history.add(group.group_id, lag, max(seconds.values(), default=None))


async def keep_sampling(context: Context, history: Rings) -> None:
    """Samples each minute until it is cancelled. A broker that does not answer costs samples, and ends nothing."""
    while True:
        with contextlib.suppress(KafkaError, ClientError):
            await sample(context, history)
        await asyncio.sleep(PERIOD_S)


async def history_of(context: Context, arguments: ViewArguments) -> Json:
    """The samples of one group; takes one at once if there is none yet."""
    history = context.part(LagHistory).rings
    name = arguments.text("group")
    history.opened(name)
    if not history.of(name):
        await sample_one(context, history, await described(context, name))
    return {
        "periodSeconds": int(PERIOD_S),
        "samples": [
            {"time": str(one.at_ms), "records": str(one.records), "seconds": one.seconds} for one in history.of(name)
        ],
    }
