"""Ships what was ordered, exactly once: reads orders with confluent-kafka, and writes shipments in transactions."""

import json

from confluent_kafka import Consumer, KafkaException, Message, Producer


class Shipping:
    """Reads the topic ``orders`` as the group ``shipping``, and writes the topic ``shipments``."""

    def __init__(self, bootstrap_servers: str) -> None:
        address = {"bootstrap.servers": bootstrap_servers}
        self._consumer = Consumer(
            address
            | {
                "group.id": "shipping",
                "auto.offset.reset": "earliest",
                "enable.auto.commit": False,
                "isolation.level": "read_committed",
            }
        )
        self._consumer.subscribe(["orders"])
        self._producer = Producer(address | {"transactional.id": "shipping"})
        self._producer.init_transactions()

    def ship(self) -> int:
        """Ships the next orders in one transaction; the number of orders, 0 if there are none or it was aborted."""
        orders = [order for order in self._consumer.consume(num_messages=100, timeout=0.5) if not order.error()]
        if not orders:
            return 0
        self._producer.begin_transaction()
        try:
            self._write(orders)
            self._producer.commit_transaction()
        except KafkaException as error:
            if not error.args[0].txn_requires_abort():
                raise
            self._producer.abort_transaction()
            self._read_again(orders)
            return 0
        return len(orders)

    def _write(self, orders: list[Message]) -> None:
        for order in orders:
            address = json.loads(order.value())["address"]
            self._producer.produce("shipments", key=order.key(), value=json.dumps({"to": address}))
        # Shipments and offsets are one transaction: both are there, or neither.
        position = self._consumer.position(self._consumer.assignment())
        self._producer.send_offsets_to_transaction(position, self._consumer.consumer_group_metadata())

    def _read_again(self, orders: list[Message]) -> None:
        for partition in self._consumer.committed(self._consumer.assignment()):
            first = min((o.offset() for o in orders if o.partition() == partition.partition), default=None)
            if first is not None:
                partition.offset = first
                self._consumer.seek(partition)

    def close(self) -> None:
        """Leaves the group, and closes the connections."""
        self._consumer.close()
