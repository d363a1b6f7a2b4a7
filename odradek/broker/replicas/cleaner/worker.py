"""Runs the slow part of a cleaning round: on a thread if it is small, otherwise in a process of its own.

Never does: changing logs. Invariant: when `carry_out_round` returns or raises, no thread or process works on its
CleaningOrder any more. See storage/compaction/worker.py for the reason to use a process.
"""

import asyncio
import pickle
import sys
import threading
import time
from asyncio.subprocess import PIPE

from odradek import __version__
from odradek.protocol.errors import ErrorCode, KafkaError
from odradek.storage.compaction.live_round import LiveRound
from odradek.storage.compaction.order import CleaningOrder, CleaningOutcome, carry_out
from odradek.storage.compaction.pace import CleaningStoppedError, Pace

from ...timers.work import KindOfWork

WORKER = KindOfWork("log-cleaner-worker", "cleans one log, on a thread or in a process")


async def carry_out_round(round_: LiveRound, thread_bytes: int) -> CleaningOutcome:
    """Runs the slow part of a round, on a thread if its size is at most ``thread_bytes``.

    It ends early if the round is interrupted or the caller is cancelled.

    Raises CleaningStoppedError, KafkaError (damage), CorruptIndexError, OSError.
    """
    order = round_.order
    if sum(size for base, size in order.segments if base < order.offsets.first_uncleanable_offset) <= thread_bytes:
        return await _on_thread(round_)
    return await _in_process(round_)


async def _on_thread(round_: LiveRound) -> CleaningOutcome:
    stop = threading.Event()
    round_.on_interrupt = stop.set
    pace = Pace(round_.order.limits.bytes_per_second, time.monotonic, stop.wait)
    work = WORKER.awaited_on_thread(carry_out, round_.order, round_.files, pace)
    try:
        return await asyncio.shield(work)
    except asyncio.CancelledError:
        stop.set()
        await asyncio.wait([work])
        work.exception()  # retrieved, so that asyncio does not report the requested stop as an error
        raise


async def _in_process(round_: LiveRound) -> CleaningOutcome:
    """Runs the round in a process. If it must stop, kills the process and waits for its end."""
    command = (sys.executable, "-m", "odradek.storage.compaction.worker", __version__)
    process = await asyncio.create_subprocess_exec(*command, stdin=PIPE, stdout=PIPE)
    stopped = asyncio.Event()
    round_.on_interrupt = stopped.set
    if round_.is_interrupted:
        stopped.set()
    answer = WORKER.awaited(_ask(process, round_.order))
    interruption = WORKER.awaited(stopped.wait())
    try:
        await asyncio.wait([answer, interruption], return_when=asyncio.FIRST_COMPLETED)
        if not answer.done():
            raise CleaningStoppedError(f"{round_.order.directory}: the log has changed while it was being cleaned")
        return answer.result()
    finally:
        interruption.cancel()
        answer.cancel()
        if process.returncode is None:
            process.kill()
        await process.wait()


async def _ask(process: asyncio.subprocess.Process, order: CleaningOrder) -> CleaningOutcome:
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(pickle.dumps(order))
    await process.stdin.drain()
    data = await process.stdout.read()  # the input stays open: closing it would end the process
    if not data:
        code = await process.wait()
        raise ChildProcessError(f"the process that cleaned {order.directory} ended without a result, exit code {code}")
    outcome, reason = pickle.loads(data)
    if outcome is None:
        raise KafkaError(ErrorCode.KAFKA_STORAGE_ERROR, reason)
    assert isinstance(outcome, CleaningOutcome)
    return outcome
