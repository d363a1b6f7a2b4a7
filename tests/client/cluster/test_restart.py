"""A broker is killed and started again: no record is lost, duplicated or reordered, and a group continues."""

import asyncio
from pathlib import Path

from odradek.client.admin import Admin, NewTopic
from odradek.client.consumer import Consumer
from odradek.client.producer import Producer
from odradek.client.types import RecordMetadata
from support.brokers.our_broker import OurBroker


async def test_a_killed_broker_costs_no_record(tmp_path: Path) -> None:
    settings = {"group.initial.rebalance.delay.ms": "0"}
    with OurBroker(tmp_path, settings) as broker:
        async with Admin(broker.bootstrap_servers) as admin:
            await admin.create_topics([NewTopic("t", 2, 1)])
        async with (
            Producer(broker.bootstrap_servers, batch_size=500, linger_ms=0) as producer,
            Consumer(
                "t",
                bootstrap_servers=broker.bootstrap_servers,
                group_id="g",
                auto_offset_reset="earliest",
                heartbeat_interval_ms=200,
                enable_auto_commit=False,
            ) as consumer,
        ):
            futures: list[asyncio.Future[RecordMetadata]] = []
            half_way = asyncio.Event()
            seen: dict[int, list[int]] = {0: [], 1: []}

            async def produce(first: int, last: int) -> None:
                for number in range(first, last):
                    futures.append(await producer.send("t", b"%d" % number, partition=number % 2))
                    await asyncio.sleep(0)  # other tasks run between the records
                    if number == 1_000:
                        half_way.set()

            async def consume_until(count: int) -> None:
                async with asyncio.timeout(60):
                    while sum(map(len, seen.values())) < count:
                        for records in (await consumer.poll(200)).values():
                            for record in records:
                                seen[record.partition].append(int(record.value or b""))
                await consumer.commit()

            await produce(0, 500)
            await consume_until(500)
            producing = asyncio.ensure_future(produce(500, 3_000))
            await half_way.wait()
            broker.kill()
            broker.start()
            await producing
            await producer.flush()
            offsets: dict[int, list[int]] = {0: [], 1: []}
            for future in futures:
                offsets[future.result().partition].append(future.result().offset)
            assert offsets[0] == sorted(set(offsets[0]))
            assert offsets[1] == sorted(set(offsets[1]))
            await consume_until(3_000)
            assert seen == {0: list(range(0, 3_000, 2)), 1: list(range(1, 3_000, 2))}
