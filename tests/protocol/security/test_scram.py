"""SCRAM and PLAIN: the messages of the RFCs, and logins of each kind with random values."""

import base64
import contextlib
import os
import random

import pytest

from odradek.protocol.security import plain
from odradek.protocol.security.scram import (
    MECHANISMS,
    SHA_256,
    ClientFinal,
    ClientFirst,
    ScramError,
    ScramMechanism,
    ServerFinal,
    ServerFirst,
    client_proof,
    credential_of,
    decode_client_final,
    decode_client_first,
    decode_server_final,
    decode_server_first,
    salted_password,
    server_signature,
    signed_text,
    verify_proof,
)

SEEDS = range(200)


def test_the_example_of_rfc_7677() -> None:
    first = decode_client_first(b"n,,n=user,r=rOprNGfwEbeRWgbNEkqO")
    answer = decode_server_first(
        b"r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096"
    )
    final = decode_client_final(
        b"c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ="
    )
    salted = salted_password(SHA_256, "pencil", answer.salt, answer.iterations)
    credential = credential_of(SHA_256, salted, answer.salt, answer.iterations)
    signed = signed_text(first, answer, final)
    assert client_proof(SHA_256, salted, signed) == final.proof
    assert verify_proof(SHA_256, credential.stored_key, signed, final.proof)
    assert not verify_proof(SHA_256, credential.stored_key, signed, final.proof[:-1])
    signature = ServerFinal(server_signature(SHA_256, credential.server_key, signed)).encode()
    assert signature == b"v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4="


@pytest.mark.parametrize("mechanism", MECHANISMS.values(), ids=lambda one: one.name)
def test_random_names_and_passwords_log_in_and_a_changed_byte_does_not(mechanism: ScramMechanism) -> None:
    for seed in SEEDS:
        chance = random.Random(seed)
        name = "".join(chance.choice("abc=,\x01 ~\x7f") for _ in range(chance.randint(1, 9)))
        password = "".join(
            chr(chance.choice([chance.randint(1, 0x7F), chance.randint(0x80, 0xD7FF)])) for _ in range(5)
        )
        salt, nonce = chance.randbytes(20), base64.b64encode(chance.randbytes(9)).decode()
        extensions = chance.choice(["", ",tokenauth=true", ",tokenauth=no,x=y=z"])
        first = decode_client_first(ClientFirst(name, nonce, chance.choice(["", name]), extensions).encode())
        assert (first.name, first.is_by_token) == (name, extensions == ",tokenauth=true"), f"seed {seed}"
        answer = ServerFirst(nonce + "server", salt, 1 + chance.randrange(20))
        seen = decode_server_first(answer.text.encode())
        salted = salted_password(mechanism, password, seen.salt, seen.iterations)
        final = ClientFinal(b"n,,", seen.nonce)
        signed = signed_text(first, seen, final)
        proof = client_proof(mechanism, salted, signed)
        read = decode_client_final(final._replace(proof=proof).encode())
        stored = credential_of(mechanism, salted, salt, seen.iterations).stored_key
        assert verify_proof(mechanism, stored, signed_text(first, answer, read), read.proof), f"seed {seed}"
        wrong = bytearray(proof)
        wrong[chance.randrange(len(wrong))] ^= 1 << chance.randrange(8)
        assert not verify_proof(mechanism, stored, signed, bytes(wrong)), f"seed {seed}"


@pytest.mark.parametrize(
    "message",
    [
        b"",
        b"y,,n=user,r=abc",
        b"p=tls-unique,,n=user,r=abc",
        b"n,,n=,r=abc",
        b"n,,n=us=er,r=abc",
        b"n,,n=user,r=",
        b"n,,n=user,r=a b",
        "n,,n=\u00fcser,r=abc".encode(),
        b"n,,n=user,r=abc,",
        b"n,,n=user,r=abc,1=x",
        b"n,,n=user,r=abc\n",
        b"n,,n=" + b"u" * 20_000 + b",r=abc",
    ],
)
def test_first_messages_that_are_refused(message: bytes) -> None:
    with pytest.raises(ScramError, match="Invalid SCRAM client first message format"):
        decode_client_first(message)


def test_a_reserved_part_is_left_out() -> None:
    assert decode_client_first(b"n,a=u=2Cv,m=x,n=u=2Cv,r=abc").bare == "n=u=2Cv,r=abc"


def test_random_bytes_are_messages_or_refused() -> None:
    """20,000 mutated messages raise no other error than ScramError."""
    messages = [b"n,,n=user,r=abc,x=y", b"r=abc,s=YWJj,i=4096", b"c=biws,r=abc,p=YWJj", b"v=YWJj", b"e=no"]
    decoders = [decode_client_first, decode_server_first, decode_client_final, decode_server_final]
    chance = random.Random(7)
    for _ in range(20_000):
        data = bytearray(chance.choice(messages))
        for _ in range(chance.randint(0, 3)):
            data[chance.randrange(len(data))] = chance.randrange(256)
        with contextlib.suppress(ScramError):
            chance.choice(decoders)(bytes(data))


def test_secrets_do_not_show() -> None:
    salted = salted_password(SHA_256, "hunter2", b"salt", 4096)
    credential = credential_of(SHA_256, salted, b"salt", 4096)
    shown = repr([credential, ClientFinal(b"n,,", "abc", b"hunter2"), ServerFinal(b"hunter2")])
    shown += repr(plain.decode(b"\0alice\0hunter2"))
    assert "hunter2" not in shown
    assert repr(credential.stored_key) not in shown


def test_plain_messages() -> None:
    assert tuple(plain.decode(plain.encode("alice", "p\u00e4ss", "alice"))) == ("alice", "alice", "p\u00e4ss")
    for data, count in ((b"", 1), (b"a\0b", 2), (b"a\0b\0c\0d", 4), (b"a\0b\0c\0d\0e", 4), (os.urandom(0), 1)):
        with pytest.raises(ValueError, match=f"expected 3 tokens, got {count}"):
            plain.decode(data)
