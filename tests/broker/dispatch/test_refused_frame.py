"""A frame that the codec refuses: the connection is closed with one line that names the field."""

from typing import cast

from odradek.broker.config.server_config import ServerConfig
from odradek.broker.dispatch.dispatch import Dispatcher
from odradek.broker.network.connection import Connection
from odradek.protocol.codec import header
from odradek.protocol.messages.metadata import MetadataRequest


class RefusedConnection:
    """Keeps the reasons for which it was closed."""

    def __init__(self) -> None:
        self.reasons: list[str] = []

    def refuse(self, reason: object) -> None:
        self.reasons.append(str(reason))


def test_the_line_names_api_version_field_and_client() -> None:
    request = MetadataRequest([MetadataRequest.MetadataRequestTopic(name="spool")])
    frame = header.encode_request(request, 8, 1, "thread")[4:].replace(b"\x00\x05spool", b"\x70\x05spool")
    connection = RefusedConnection()
    dispatcher = Dispatcher(None, lambda: 0.0, ServerConfig.load(None, [], {}))
    dispatcher.dispatch(cast(Connection, connection), memoryview(frame), True)
    (reason,) = connection.reasons
    assert reason == (
        "Metadata v8: topics[0].name: the length is 28677 bytes, only 8 are left, in the field at byte 20; "
        "client id 'thread'"
    )
