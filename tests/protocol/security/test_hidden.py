"""Secrets of authentication do not show in decoded bytes or dumped records."""

from odradek.protocol.codec import encode
from odradek.protocol.messages.metadata_records import UserScramCredentialRecord
from odradek.protocol.messages.security import SaslAuthenticateRequest
from odradek.protocol.reference.dissect import dissect
from odradek.protocol.show.show import field_lines
from odradek.protocol.table import message
from odradek.storage.dump.decoders import Typed
from odradek.storage.dump.embedded import HIDDEN, data_document


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
