"""librdkafka's mock cluster in this process: each line on stdin asks for a clean one."""

import sys

from confluent_kafka import Producer


def serve() -> bool:
    """One cluster of one broker, until the next line. Returns False at the end of the input."""
    owner = Producer({"test.mock.num.brokers": 1})
    (broker,) = owner.list_topics(timeout=30).brokers.values()
    print(f"{broker.host}:{broker.port}", flush=True)
    return bool(sys.stdin.readline())


while serve():
    pass
