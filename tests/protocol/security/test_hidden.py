"""Secrets do not show in decoded bytes, dumped records, recorded requests, or the representation of a message."""

import pytest

from odradek.broker.config.definition import server_keys
from odradek.broker.config.own_keys import OWN_PREFIX
from odradek.protocol.apis.table import message
from odradek.protocol.codec import encode
from odradek.protocol.messages.configs import AlterConfigsRequest, IncrementalAlterConfigsRequest
from odradek.protocol.messages.metadata_records import ConfigRecord, UserScramCredentialRecord
from odradek.protocol.messages.security import SaslAuthenticateRequest
from odradek.protocol.messages.structure import HIDDEN, Message, is_secret_config
from odradek.protocol.reference.dissect import dissect
from odradek.protocol.show.show import field_lines, secret_paths, value_of
from odradek.storage.dump.decoders import Typed
from odradek.storage.dump.embedded import data_document
from odradek.testing.traffic.documents import message_document


def test_decoded_bytes_show_no_token() -> None:
    data = encode(SaslAuthenticateRequest(b"\0alice\0hunter2"), 2)
    lines = "\n".join(field_lines(dissect(message("SaslAuthenticateRequest"), 2, data).notes, data))
    assert b"hunter2".hex() not in lines
    assert "hidden: " in lines


def test_dumped_credentials_show_no_keys() -> None:
    record = UserScramCredentialRecord("alice", 1, b"salt", b"stored", b"server", 4096)
    shown = data_document(Typed(record, 11, 0), deeper=False)
    assert shown == {
        "name": "alice",
        "mechanism": 1,
        "salt": HIDDEN,
        "storedKey": HIDDEN,
        "serverKey": HIDDEN,
        "iterations": 4096,
    }
    assert "stored" not in repr(record).replace("stored_key", "")


KEY = "listener.name.clients.ssl.keystore.password"
CHANGES: list[tuple[Message, int]] = [
    (ConfigRecord(4, "1", KEY, "hunter2"), 0),
    (
        IncrementalAlterConfigsRequest(
            [
                IncrementalAlterConfigsRequest.AlterConfigsResource(
                    4,
                    "1",
                    [
                        IncrementalAlterConfigsRequest.AlterableConfig("background.threads", 0, "11"),
                        IncrementalAlterConfigsRequest.AlterableConfig(KEY, 0, "hunter2"),
                    ],
                )
            ]
        ),
        1,
    ),
    (
        AlterConfigsRequest(
            [AlterConfigsRequest.AlterConfigsResource(4, "1", [AlterConfigsRequest.AlterableConfig(KEY, "hunter2")])]
        ),
        2,
    ),
]


@pytest.mark.parametrize(("message_", "version"), CHANGES, ids=lambda one: getattr(one, "NAME", str(one)))
def test_a_config_that_is_a_password_does_not_show(message_: Message, version: int) -> None:
    data = encode(message_, version)
    notes = dissect(message(message_.NAME), version, data).notes
    lines = "\n".join(field_lines(notes, data))
    assert b"hunter2".hex() not in lines
    texts = [value_of(note, secret_paths(notes)) for note in notes]
    document = str(message_document(message_, version))
    for shown in (lines, repr(message_), str(texts), document):
        assert "hunter2" not in shown
        assert KEY in shown
        assert HIDDEN in shown
    assert "background.threads" not in document or "'value': '11'" in document


def test_a_dumped_config_that_is_a_password_has_no_value() -> None:
    shown = data_document(Typed(ConfigRecord(4, "1", KEY, "hunter2"), 4, 0), deeper=False)
    assert shown["value"] == HIDDEN
    plain = data_document(Typed(ConfigRecord(2, "orders", "retention.ms", "1"), 4, 0), deeper=False)
    assert plain["value"] == "1"


def test_the_configs_that_are_hidden_are_the_passwords() -> None:
    """No other key of the broker is hidden."""
    passwords = {name for name, definition in server_keys().items() if definition.type == "PASSWORD"}
    assert {name for name in server_keys() if is_secret_config(name)} == passwords
    assert [name for name in passwords if name.startswith(OWN_PREFIX)]
