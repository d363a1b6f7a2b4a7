"""`make bench-streams`: how long the tasks of a killed Kafka Streams instance stand still, at ours and at a real Kafka.

Two instances of a word count (``tests/java/WordCount.java``, Kafka Streams 4.4.0 with ``group.protocol=streams``,
exactly once, one standby of each task). One is killed, and lines for all partitions are written. It measures two times:
from the kill, which includes the session timeout that is the same for both, and from the moment at which the broker has
removed the dead member. Both end when the survivor has counted everything.

The survivor hears of the removal with its next heartbeat, up to 5 s later. So the second instance starts a random time
after the first, the same with both brokers, and the figure is the median of the rounds. Prints one table; ratios above
1 are in favour of Odradek.
"""

import argparse
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from random import Random

from one_connection import OneConnection
from rich.progress import Progress

import brokers
import workloads
from brokers import Running
from comparison_table import Samples, show
from installed_wheel import install_wheel
from interpreters import describe
from odradek.protocol.messages.streams_groups import StreamsGroupDescribeRequest
from support.kafka.java import kafka_libs
from support.kafka.word_count import GROUP, PARTITIONS, TOPICS, Counts, Instance, write_lines

KEYS = {"group.streams.num.standby.replicas": "1"}
"""All times are the defaults: a session timeout of 45 s, heartbeats every 5 s."""
HEARTBEAT_S = 5
LOOK_S = 0.02
Starter = Callable[[Path], AbstractContextManager[Running]]


def measure(running: Running, directory: Path, seed: int) -> dict[str, float]:
    """Both times, in seconds. The seed decides when the second instance starts."""
    for topic in TOPICS:
        workloads.create_topic(running.bootstrap, topic, PARTITIONS)
    chance, expected, counts = Random(seed), Counter[str](), Counts(running.bootstrap)
    write_lines(running.bootstrap, chance, expected)
    instances: list[Instance] = []
    try:
        for name in ("first", "second"):
            instances.append(Instance(name, running.bootstrap, directory, "streams"))
            instances[-1].wait_until_running()
            time.sleep(chance.uniform(0, HEARTBEAT_S))
        counts.wait_for(expected, instances)
        killed = time.perf_counter()
        instances[0].kill()
        write_lines(running.bootstrap, chance, expected)
        wait_until_removed(OneConnection(int(running.bootstrap.rpartition(":")[2])))
        removed = time.perf_counter()
        counts.wait_for(expected, instances)
        counted = time.perf_counter()
    finally:
        for instance in instances:
            instance.kill()
        counts.close()
    return {
        "from the kill until all is counted, s": counted - killed,
        "from the removal of the dead member until all is counted, s": counted - removed,
    }


def wait_until_removed(asking: OneConnection) -> None:
    """Waits until the group has no member of the killed instance, whose threads are all of one process."""
    processes = 2
    while processes > 1:
        [group] = asking.ask(StreamsGroupDescribeRequest([GROUP]), 0).groups
        processes = len({member.process_id for member in group.members})
        time.sleep(LOOK_S)


def main() -> int:
    """Measures both brokers in turn and prints the table; the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    rounds = parser.parse_args().rounds
    libs = Path(kafka_libs())
    results: dict[str, Samples] = {"odradek": {}, "kafka": {}}
    with tempfile.TemporaryDirectory(prefix="odradek-bench-") as place, Progress() as progress:
        scratch = Path(place)
        task = progress.add_task("build and install the wheel", total=1 + 2 * rounds)
        executable = install_wheel(scratch / "wheel")
        progress.console.print(describe(str(executable.parent / "python")))
        starters: dict[str, Starter] = {
            "odradek": lambda directory: brokers.odradek(executable, directory, KEYS),
            "kafka": lambda directory: brokers.kafka(libs, directory, KEYS),
        }
        progress.advance(task)
        for number in range(rounds):
            for name, start in starters.items():
                progress.update(task, description=f"round {number + 1}: {name}")
                directory = scratch / f"{name}-{number}"
                directory.mkdir()
                with start(directory) as running:
                    for figure, value in measure(running, directory, number).items():
                        results[name].setdefault(figure, []).append(value)
                progress.advance(task)
    show(results)
    return 0


if __name__ == "__main__":
    sys.exit(main())
