"""Unmodified Kafka Streams with exactly_once_v2: a word count by two instances, one of which is killed.

Streams 4.4.0 with the classic protocol (its own assignor) and as a streams group (KIP-1071: the broker makes the
internal topics and assigns tasks, with a standby of each). A repartition topic, a changelog from which the survivor
restores the dead instance's counts, and a transaction for every commit. Readers of committed records get each count of
a word once, and in order.
"""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest

from support.brokers.our_broker import OurBroker
from support.brokers.python_clients import CLIENTS
from support.kafka.java import java_or_skip
from support.kafka.word_count import PARTITIONS, STREAMS_KEYS, TOPICS, Counts, Instance, write_lines

KEYS = {"group.initial.rebalance.delay.ms": "0", **STREAMS_KEYS}


@pytest.fixture
def instances() -> Iterator[list[Instance]]:
    """A list for the instances of a test, whose processes end with the test."""
    made: list[Instance] = []
    yield made
    for instance in made:
        instance.kill()


@pytest.mark.ci
@pytest.mark.java
@pytest.mark.parametrize("protocol", ["classic", "streams"])
def test_words_are_counted_exactly_once(tmp_path: Path, instances: list[Instance], protocol: str) -> None:
    java_or_skip()
    with OurBroker(tmp_path, KEYS) as broker:
        servers = broker.bootstrap_servers
        for topic in TOPICS:
            CLIENTS["confluent-kafka"].create_topic(servers, topic, PARTITIONS)
        chance, expected = Random(4711), Counter[str]()
        counts = Counts(servers)
        write_lines(servers, chance, expected)
        instances += [Instance(name, servers, tmp_path, protocol) for name in ("first", "second")]
        for instance in instances:
            instance.wait_until_running()
        counts.wait_for(expected, instances)

        write_lines(servers, chance, expected)
        instances[0].kill()
        write_lines(servers, chance, expected)
        counts.wait_for(expected, instances)

        instances[1].stop()
        counts.close()
        assert " ERROR " not in broker.log()
