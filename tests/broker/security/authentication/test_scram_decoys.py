"""A client without a password sees the same of an unknown user as of a user: in form, and over time."""

import os
from collections import Counter
from random import Random

import pytest

from odradek.broker.security.authentication.scram_decoys import KAFKAS_FORM, Form, ScramDecoys, base_36, form_of
from odradek.protocol.security.scram import MECHANISMS, ScramMechanism
from odradek.protocol.security.scram_credential import ScramCredential

SHA_256, SHA_512 = MECHANISMS["SCRAM-SHA-256"], MECHANISMS["SCRAM-SHA-512"]
KEY = b"a secret of the broker"
Credentials = dict[tuple[str, int], ScramCredential]


def credential(salt: bytes, iterations: int = 4096) -> ScramCredential:
    return ScramCredential(salt, os.urandom(32), os.urandom(32), iterations)


def kafkas_salt(random: Random) -> bytes:
    """A salt as Kafka's tools make it."""
    return base_36(random.getrandbits(130)).encode()


def decoys_of(credentials: Credentials, key: bytes = KEY) -> ScramDecoys:
    decoys = ScramDecoys(key)
    decoys.update(credentials, credentials)
    return decoys


def users(random: Random, count: int, mechanism: ScramMechanism = SHA_256) -> Credentials:
    """A third of the users are of Kafka's tools, a third of a client with 16 bytes, a third of one with 20 bytes and
    more iterations.
    """
    salts = [lambda: (kafkas_salt(random), 4096), lambda: (random.randbytes(16), 4096)]
    salts.append(lambda: (random.randbytes(20), 15_000))
    return {(f"user-{n}", mechanism.type): credential(*salts[n % 3]()) for n in range(count)}


def test_unknown_names_get_each_form_that_users_have_about_as_often() -> None:
    stored = users(Random(1), 300)
    decoys = decoys_of(stored)
    forms = Counter(form_of(decoys.of_user(SHA_256, f"nobody-{n}")) for n in range(900))
    assert set(forms) == {Form(4096, 0), Form(4096, 16), Form(15_000, 20)} == set(map(form_of, stored.values()))
    assert all(200 < count < 400 for count in forms.values()), forms


def test_without_users_the_form_is_that_of_kafkas_tools() -> None:
    assert form_of(decoys_of({}).of_user(SHA_256, "alice")) == KAFKAS_FORM
    of_other_mechanism = users(Random(2), 30, SHA_512)
    assert form_of(decoys_of(of_other_mechanism).of_user(SHA_256, "alice")) == KAFKAS_FORM


def test_one_form_of_all_users_is_that_of_all_names() -> None:
    random = Random(3)
    stored = {(f"user-{n}", SHA_512.type): credential(random.randbytes(64), 8192) for n in range(5)}
    decoys = decoys_of(stored)
    assert {form_of(decoys.of_user(SHA_512, f"x{n}")) for n in range(100)} == {Form(8192, 64)}


@pytest.mark.parametrize("seed", range(5))
def test_a_change_of_a_credential_changes_no_other_name(seed: int) -> None:
    """New, changed and removed users: what unknown names get stays the same, also after a restart."""
    random = Random(seed)
    stored = users(random, 270)
    decoys = decoys_of(stored)
    names = [f"nobody-{n}" for n in range(200)]
    before = [decoys.of_user(SHA_256, name) for name in names]
    for change in range(25):
        user = (f"user-{random.randrange(270)}", SHA_256.type)
        if user in stored and change % 3 == 0:
            del stored[user]
        else:
            stored[user] = credential(random.randbytes(16))
        decoys.update(stored, [user])
    assert [decoys.of_user(SHA_256, name) for name in names] == before
    assert [decoys_of(stored).of_user(SHA_256, name) for name in names] == before


def test_updates_count_as_a_start_does() -> None:
    random = Random(4)
    stored = users(random, 90)
    decoys = decoys_of(stored)
    for (name, kind), changed in {**users(random, 120), **users(random, 30, SHA_512)}.items():
        if random.random() < 0.5:
            stored[name, kind] = changed
        else:
            stored.pop((name, kind), None)
        decoys.update(stored, [(name, kind)])
    fresh = decoys_of(stored)
    for mechanism in (SHA_256, SHA_512):
        assert decoys.of_user(mechanism, "x") == fresh.of_user(mechanism, "x")
    assert decoys._counts == fresh._counts


def test_salts_differ_by_name_mechanism_and_key() -> None:
    one, other = decoys_of({}), decoys_of({}, b"another secret")
    salts = {
        one.of_user(SHA_256, "alice").salt,
        one.of_user(SHA_256, "bob").salt,
        one.of_user(SHA_512, "alice").salt,
        other.of_user(SHA_256, "alice").salt,
        one.of_token(SHA_256, "alice").salt,
    }
    assert len(salts) == 5


def test_a_token_has_the_salt_that_its_id_has_without_it() -> None:
    decoys = decoys_of(users(Random(5), 30))
    made = decoys.of_token(SHA_256, "an-id")
    assert made.salt == decoys.token_salt(SHA_256, "an-id")
    assert form_of(made) == KAFKAS_FORM


def test_many_forms_cost_as_much_as_few() -> None:
    """Only the most common forms are made up."""
    stored = {(f"user-{n}", SHA_256.type): credential(bytes([255]) * 16, 4096 + n) for n in range(1000)}
    decoys = decoys_of(stored)
    decoys.of_user(SHA_256, "x")
    assert len(decoys._common[SHA_256.type]) == 16
