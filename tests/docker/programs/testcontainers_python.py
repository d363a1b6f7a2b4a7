"""Starts Kafka with Testcontainers' module for Python, writes a record from this machine, and prints what it reads.

The argument ``kraft`` chooses the module's KRaft mode; without it, the module starts ZooKeeper, too.
"""

import sys

from kafka import KafkaConsumer, KafkaProducer
from testcontainers.community.kafka import KafkaContainer

container = KafkaContainer()
if "kraft" in sys.argv:
    container.with_kraft()
with container:
    address = container.get_bootstrap_server()
    with KafkaProducer(bootstrap_servers=address) as producer:
        producer.send("orders", b"from a module").get(timeout=60)
    with KafkaConsumer("orders", bootstrap_servers=address, group_id="g", auto_offset_reset="earliest") as consumer:
        print(next(iter(consumer)).value.decode())
