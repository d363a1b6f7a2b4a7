"""The corpus of Kafka's answers: files of JSON lines with the questions that were put to a real Kafka.

docs/kafka-answers.md describes the format. A file has a header and then the steps for one broker, which is empty at the
start. Ids that a broker chooses have names in it, such as ``$topicId3``.
"""

import base64
import json
import struct
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from odradek.protocol.records.batch import iterate_headers
from odradek.protocol.records.checksum import crc32c
from odradek.protocol.records.record import decode_records
from parity.world import DIFFERENT_ANYWAY, comparable

FORMAT = 2
FILES = Path(__file__).parent / "kafka"
TEXT_IDS = frozenset({"topicId", "memberId"})
NUMBER_IDS = {"producerId": "producerId", "v3AndBelowProducerId": "producerId", "sessionId": "sessionId"}
"""Field -> kind of id. Their numbers may be equal to others, so they have names only in these fields."""
OF_THE_MACHINE = frozenset({"logDir", "totalBytes", "usableBytes"})
NOT_KEPT = OF_THE_MACHINE | DIFFERENT_ANYWAY - TEXT_IDS - NUMBER_IDS.keys() - {"errorMessage", "message", "leader"}
NOT_COMPARED = OF_THE_MACHINE | {"batchIndexErrorMessage"}
TIMES_OF_THE_DAY = range(1_750_000_000_000, 4_000_000_000_000)
"""Numbers that are taken for times of a broker's clock. Scenes use earlier ones."""
ALSO_UNORDERED = frozenset(
    {"members", "topicPartitions", "transactionStates", "acls", "matchingAcls", "resultsByTopicV3AndBelow"}
)
"""Lists whose order depends on ids, or has no meaning."""
ZERO_ID = "A" * 22
CRC_POSITION, CRC_FROM, PRODUCER_POSITION = 17, 21, 43

NOT_YET = {14, 15, 16, 51}
"""COORDINATOR_LOAD_IN_PROGRESS, COORDINATOR_NOT_AVAILABLE, NOT_COORDINATOR, CONCURRENT_TRANSACTIONS."""
LOOKS = frozenset(
    {"Metadata", "ListOffsets", "FindCoordinator", "OffsetFetch", "DescribeGroups", "ListGroups", "DescribeConfigs"}
    | {"DescribeTopicPartitions", "ConsumerGroupDescribe", "DescribeProducers", "DescribeTransactions"}
    | {"DescribeAcls", "DescribeDelegationToken"}
)
"""APIs that change nothing. Kafka shows some changes after it has answered, so these questions are repeated."""

Json = dict[str, Any]


@dataclass
class Answers:
    """One file."""

    kafka: str
    configs: dict[str, str]
    steps: list[Json] = field(default_factory=list)
    clients: dict[str, Json] = field(default_factory=dict)
    """Connections that have an address or a login of their own, by name."""

    def write(self, path: Path) -> None:
        """Writes the file."""
        header = {"format": FORMAT, "kafka": self.kafka, "configs": self.configs}
        header |= {"clients": self.clients} if self.clients else {}
        lines = [json.dumps(line, separators=(",", ":")) for line in (header, *self.steps)]
        path.write_text("\n".join(lines) + "\n")


def read(path: Path) -> Answers:
    """Reads a file. Raises ValueError for another version of the format."""
    header, *steps = [json.loads(line) for line in path.read_text().splitlines()]
    if header["format"] != FORMAT:
        raise ValueError(f"{path} has format {header['format']}, not {FORMAT}")
    return Answers(header["kafka"], header["configs"], steps, header.get("clients", {}))


class Names:
    """The names of a broker's ids: of topics, members, producers and fetch sessions."""

    def __init__(self) -> None:
        self._real: dict[str, Any] = {}
        self._texts: dict[str, str] = {}
        self._numbers: dict[tuple[str, int], str] = {}

    def give(self, name: str, key: str, real: Any) -> None:
        """Names an id."""
        self._real[name] = real
        if key in NUMBER_IDS:
            self._numbers[NUMBER_IDS[key], real] = name
        else:
            self._texts[real] = name

    def new(self, answer: Any, given: frozenset[str]) -> None:
        """Names the ids in an answer that have no name. ``given``: the texts that clients have chosen."""
        for key, value in _ids_in(answer):
            if key in NUMBER_IDS:
                known = (NUMBER_IDS[key], value) in self._numbers
            else:
                known = value in self._texts or value in given
            if not known:
                self.give(f"${key}{len(self._real) + 1}", key, value)

    def named(self, node: Any, key: str = "") -> Any:
        """A document with names instead of ids."""
        if isinstance(node, dict):
            return {name: self.named(value, name) for name, value in node.items()}
        if isinstance(node, list):
            return [self.named(item, key) for item in node]
        if key == "records" and isinstance(node, str):
            return self._named_records(node)
        if key in NUMBER_IDS and isinstance(node, int):
            return self._numbers.get((NUMBER_IDS[key], node), node)
        return self._texts.get(node, node) if isinstance(node, str) else node

    def _named_records(self, text: str) -> Any:
        data = base64.b64decode(text)
        name = None
        if len(data) > PRODUCER_POSITION + 8:
            name = self._numbers.get(("producerId", struct.unpack_from(">q", data, PRODUCER_POSITION)[0]))
        return text if name is None else {"producerId": name, "batch": text}

    def real(self, node: Any) -> Any:
        """A document with this broker's ids instead of names."""
        if isinstance(node, dict) and node.keys() == {"producerId", "batch"}:
            batch = with_producer(base64.b64decode(node["batch"]), self._real[node["producerId"]])
            return base64.b64encode(batch).decode()
        if isinstance(node, dict):
            return {name: self.real(value) for name, value in node.items()}
        if isinstance(node, list):
            return [self.real(item) for item in node]
        return self._real.get(node, node) if isinstance(node, str) else node

    def learn(self, expected: Any, answer: Any) -> None:
        """Takes the ids of this broker from the places where another answer has names."""
        if isinstance(expected, dict) and isinstance(answer, dict):
            for key, value in expected.items():
                if isinstance(value, str) and value.startswith("$") and key in {*TEXT_IDS, *NUMBER_IDS}:
                    if value not in self._real and _is_id(key, answer.get(key)):
                        self.give(value, key, answer[key])
                else:
                    self.learn(value, answer.get(key))
        elif isinstance(expected, list) and isinstance(answer, list):
            for one, other in zip(sorted(expected, key=_place), sorted(answer, key=_place), strict=False):
                self.learn(one, other)


def _place(item: Any) -> str:
    """Sorts the items of a list alike for two brokers: without ids, hosts and texts."""
    return str(compared(item))


def _ids_in(node: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(node, list):
        for item in node:
            yield from _ids_in(item)
    if isinstance(node, dict):
        for key, value in node.items():
            if _is_id(key, value):
                yield key, value
            yield from _ids_in(value)


def _is_id(key: str, value: Any) -> bool:
    if key in NUMBER_IDS:
        return isinstance(value, int) and value >= (1 if key == "sessionId" else 0)
    return key in TEXT_IDS and isinstance(value, str) and value not in ("", ZERO_ID)


def texts_in(node: Any) -> Iterator[str]:
    """All texts of a document."""
    if isinstance(node, dict):
        for value in node.values():
            yield from texts_in(value)
    elif isinstance(node, list):
        for item in node:
            yield from texts_in(item)
    elif isinstance(node, str):
        yield node


def with_producer(batch: bytes, producer_id: int) -> bytes:
    """A batch of records as if another producer had sent it."""
    changed = bytearray(batch)
    struct.pack_into(">q", changed, PRODUCER_POSITION, producer_id)
    struct.pack_into(">I", changed, CRC_POSITION, crc32c(bytes(changed[CRC_FROM:])))
    return bytes(changed)


def kept(node: Any) -> Any:
    """An answer without hosts, times and the like."""
    if isinstance(node, dict):
        return {key: kept(value) for key, value in node.items() if key not in NOT_KEPT}
    return [kept(item) for item in node] if isinstance(node, list) else node


def compared(node: Any, ignored: Iterable[str] = ()) -> Any:
    """An answer as it is compared: without ids, times, texts and ``ignored`` fields, with records instead of bytes."""
    return comparable(_compared(without(node, NOT_COMPARED.union(ignored))))


def without(node: Any, keys: Collection[str]) -> Any:
    """A document without fields of these names."""
    if isinstance(node, dict):
        return {key: without(value, keys) for key, value in node.items() if key not in keys}
    return [without(item, keys) for item in node] if isinstance(node, list) else node


def _compared(node: Any, key: str = "") -> Any:
    if isinstance(node, dict) and node.keys() == {"producerId", "batch"}:
        return _records(base64.b64decode(node["batch"]))
    if isinstance(node, dict):
        return {name: _compared(value, name) for name, value in node.items()}
    if isinstance(node, list):
        items = [_compared(item, key) for item in node]
        return sorted(items, key=lambda item: str(comparable(item))) if key in ALSO_UNORDERED else items
    if isinstance(node, int):
        return _time(node)
    return _records(base64.b64decode(node)) if key == "records" and isinstance(node, str) else node


def _time(number: int) -> Any:
    return "a time of the day" if number in TIMES_OF_THE_DAY else number


def _records(data: bytes) -> Any:
    """The batches in some bytes. Two brokers compress the same records to other bytes."""
    return [
        {
            "offsets": (header.base_offset, header.last_offset),
            "attributes": header.attributes,
            "leaderEpoch": header.partition_leader_epoch,
            "producer": (header.producer_epoch, header.base_sequence),
            "records": [
                (one.offset, _time(one.timestamp), one.key, one.value) for one in decode_records(data, header, at)
            ],
        }
        for at, header in iterate_headers(data)
    ]


def named(steps: Iterable[Json]) -> list[Json]:
    """Recorded steps with names instead of ids, and without what differs between any two brokers."""
    names, given, found = Names(), set[str](), []
    for step in steps:
        request = names.named(step.get("request"))
        given.update(texts_in(step.get("request")))
        answer = step.get("answer")
        if isinstance(answer, dict) and "body" in answer:
            names.new(answer["body"], frozenset(given))
            answer = {"body": without(names.named(answer["body"]), NOT_KEPT.union(step.get("ignored", ())))}
        found.append({key: {"request": request, "answer": answer}.get(key, value) for key, value in step.items()})
    return found


def is_not_yet(answer: Any) -> bool:
    """Whether a broker asks its client to try again: a coordinator loads, or a transaction ends."""
    return not NOT_YET.isdisjoint(_errors_in(answer))


def _errors_in(node: Any) -> Iterator[int]:
    if isinstance(node, dict):
        for key, value in node.items():
            if key == "errorCode":
                yield value
            yield from _errors_in(value)
    elif isinstance(node, list):
        for item in node:
            yield from _errors_in(item)
