"""Ships what was ordered: reads orders with kafka-python, and writes a shipment for each."""

import json
from contextlib import suppress

from kafka import KafkaConsumer, KafkaProducer
from kafka.errors import KafkaConnectionError


class Shipping:
    """Reads the topic ``orders`` as the group ``shipping``, and writes the topic ``shipments``."""

    def __init__(self, bootstrap_servers: str) -> None:
        self._consumer = KafkaConsumer(
            "orders",
            bootstrap_servers=bootstrap_servers,
            group_id="shipping",
            auto_offset_reset="earliest",
            enable_auto_commit=False,
        )
        self._producer = KafkaProducer(bootstrap_servers=bootstrap_servers, acks="all")

    def ship(self) -> int:
        """Ships the orders of one poll, at most half a second of waiting; the number of orders."""
        try:
            polled = [order for orders in self._consumer.poll(timeout_ms=500).values() for order in orders]
        except KafkaConnectionError:
            return 0  # the broker restarts: the next poll looks for it again
        for order in polled:
            address = json.loads(order.value)["address"]
            self._producer.send("shipments", key=order.key, value=json.dumps({"to": address}).encode())
        # The offsets are committed when the shipments are stored: a crash in between repeats orders, and loses none.
        self._producer.flush()
        if polled:
            with suppress(KafkaConnectionError):  # the next commit covers these orders, too
                self._consumer.commit()
        return len(polled)

    def close(self) -> None:
        """Leaves the group, and closes the connections."""
        self._consumer.close()
        self._producer.close()
