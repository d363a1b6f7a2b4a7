"""Clients of our own that write and read until they are stopped: what a busy broker's metrics are read under.

with SteadyLoad(broker.bootstrap_servers, "orders") as load:
    ...                    # look at the broker
assert load.consumed > 0
"""

import asyncio
import sys
import threading
from collections.abc import Coroutine
from types import TracebackType
from typing import Self

from odradek.client import Consumer, Producer

PRODUCERS, TRANSACTIONAL_PRODUCERS = 3, 2
BATCH = 200
IN_TRANSACTION = 20
RECORD = bytes(200)
GROUPS = (("readers", "classic"), ("new-readers", "consumer"))
MEMBERS = 2
POLL_MS = 200
SWITCH_S = 0.0005


class SteadyLoad:
    """Producers, transactional producers, and two members of a group of each protocol, on a thread of their own."""

    def __init__(self, bootstrap_servers: str, topic: str) -> None:
        self._servers = bootstrap_servers
        self._topic = topic
        self._is_over = False
        self._failure: Exception | None = None
        self._thread = threading.Thread(target=self._run, name="load")
        self._switch_s = sys.getswitchinterval()
        self.produced = self.transactions = 0
        self.consumed = {group: 0 for group, _ in GROUPS}

    def __enter__(self) -> Self:
        # The broker has a thread of the same process: by default it would wait 5 ms for each of its turns.
        sys.setswitchinterval(SWITCH_S)
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        self._is_over = True
        self._thread.join()
        sys.setswitchinterval(self._switch_s)
        if error is None and self._failure is not None:
            raise self._failure

    def _run(self) -> None:
        try:
            asyncio.run(self._work())
        except Exception as failure:  # noqa: BLE001 - the test's thread raises it again
            self._failure = failure

    async def _work(self) -> None:
        work: list[Coroutine[None, None, None]] = [self._produce() for _ in range(PRODUCERS)]
        work += [self._transact(f"clerk-{number}") for number in range(TRANSACTIONAL_PRODUCERS)]
        work += [self._consume(group, protocol) for group, protocol in GROUPS for _ in range(MEMBERS)]
        async with asyncio.TaskGroup() as tasks:
            for one in work:
                tasks.create_task(one)

    async def _produce(self) -> None:
        async with Producer(self._servers) as producer:
            while not self._is_over:
                for _ in range(BATCH):
                    await producer.send(self._topic, RECORD)
                await producer.flush()
                self.produced += BATCH

    async def _transact(self, transactional_id: str) -> None:
        async with Producer(self._servers, transactional_id=transactional_id) as producer:
            await producer.init_transactions()
            while not self._is_over:
                async with producer.transaction():
                    for _ in range(IN_TRANSACTION):
                        await producer.send(self._topic, RECORD)
                self.transactions += 1

    async def _consume(self, group: str, protocol: str) -> None:
        async with Consumer(
            self._topic,
            bootstrap_servers=self._servers,
            group_id=group,
            group_protocol=protocol,
            auto_offset_reset="earliest",
            enable_auto_commit=False,
        ) as consumer:
            while not self._is_over:
                records = await consumer.poll(POLL_MS)
                if records:
                    self.consumed[group] += sum(map(len, records.values()))
                    await consumer.commit()
