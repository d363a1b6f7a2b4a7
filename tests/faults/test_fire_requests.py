"""The fire tells faults of brokers from faults of clients by the requests that pass its proxies."""

from random import Random

from odradek.protocol.apis.api_keys import ApiKey
from odradek.protocol.codec.header import encode_request
from odradek.protocol.messages.groups import HeartbeatRequest
from odradek.protocol.messages.metadata import MetadataRequest
from support.fire.requests import SILENT_S, Conversation, Requests

NAME = "teller-1"


def heartbeat(correlation_id: int, client_id: str = f"{NAME}-7") -> bytes:
    return encode_request(HeartbeatRequest("g", 1, "m"), 3, correlation_id, client_id)


def answer(correlation_id: int, size: int = 6) -> bytes:
    return (4 + size).to_bytes(4, "big") + correlation_id.to_bytes(4, "big") + bytes(size)


class World:
    """A clock, and connections of one client to two brokers."""

    def __init__(self) -> None:
        self.now_s = 100.0
        self.requests = Requests(lambda: self.now_s)
        self.first: Conversation = self.requests.conversation(1)
        self.second: Conversation = self.requests.conversation(2)


def test_answers_are_matched_whatever_the_pieces() -> None:
    world = World()
    chance = Random(1)
    data = b"".join(heartbeat(number) for number in range(50))
    answers = b"".join(answer(number, chance.randrange(3_000)) for number in range(49))
    for stream, take in ((data, world.first.to_server), (answers, world.first.to_client)):
        while stream:
            size = chance.randint(1, 40)
            take(stream[:size])
            stream = stream[size:]
    client = world.requests.of(NAME)[f"{NAME}-7"]
    assert [one.api for one in client.open.values()] == [ApiKey.HEARTBEAT.name]
    assert client.answered is not None
    assert client.answered.node_id == 1


def test_silent_broker_is_named() -> None:
    world = World()
    world.first.to_server(heartbeat(1))
    world.second.to_server(encode_request(MetadataRequest([]), 9, 1, f"{NAME}-7"))
    world.second.to_client(answer(1))
    world.now_s += SILENT_S + 1
    said, is_of_client = world.requests.verdict(NAME)
    assert not is_of_client
    assert "answered last: METADATA of broker 2 16.0 s ago; open: HEARTBEAT of broker 1 for 16.0 s" in said
    assert said.endswith("a fault of the broker: no answer to HEARTBEAT of broker 1")


def test_client_that_sends_nothing_more_is_named() -> None:
    world = World()
    world.first.to_server(heartbeat(1))
    world.first.to_client(answer(1))
    world.second.to_server(heartbeat(2))
    world.second.close()
    world.now_s += SILENT_S + 1
    assert "a fault of the client" in world.requests.verdict(NAME).text
    assert world.requests.verdict(NAME).is_of_client
    assert "no broker got a request" in world.requests.verdict("another").text
