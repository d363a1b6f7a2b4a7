"""The records of the leaders' logs at the end of a life, each with a flag for committed ones.

Owns: the reading of transactions from control records. Never does: requests to a broker.
"""

from cluster.simulator.checks import Key, data_of
from cluster.simulator.history import Record
from cluster.simulator.nodes import BrokerNode, ControllerNode
from odradek.protocol.records.batch import iterate_headers
from odradek.protocol.records.control import ControlRecordType, control_record_type
from odradek.protocol.records.record import decode_records


def final_logs(
    controller: ControllerNode, brokers: list[BrokerNode], topics: tuple[str, ...]
) -> dict[Key, dict[int, Record]]:
    """Partition -> offset -> record."""
    found = {}
    for topic in topics:
        for index, partition in controller.image.topics_by_name[topic].partitions.items():
            found[topic, index] = _records(bytes(data_of(brokers[partition.leader - 1], (topic, index))))
    return found


def _records(data: bytes) -> dict[int, Record]:
    """The records of one log. Those of an open transaction are not committed."""
    records: dict[int, Record] = {}
    open_of: dict[int, list[int]] = {}
    for position, header in iterate_headers(data):
        batch = decode_records(data, header, position)
        if header.is_control:
            ended = open_of.pop(header.producer_id, [])
            if control_record_type(batch[0].key) is ControlRecordType.COMMIT:
                for offset in ended:
                    records[offset] = records[offset]._replace(is_committed=True)
            continue
        for number, record in enumerate(batch):
            offset = header.base_offset + number
            records[offset] = Record(bytes(record.value or b""), not header.is_transactional)
            if header.is_transactional:
                open_of.setdefault(header.producer_id, []).append(offset)
    return records
