"""Made-up SCRAM credentials for unknown names, which look like those of users.

Pure. A server must show a user's salt and iterations before the user has proved anything, so it also shows some for
names that it does not know. Owns: the forms of the stored credentials, and how many have each. Invariants: the same
name gets the same salt and iterations while the forms stay as common as they are (within a factor of two), so a
change of one credential tells nothing; each form that a user has is also made up for unknown names, about as often;
without the key nothing can compute what a name gets. The cost of a credential does not grow with the number of users.
Source: ours; RFC 5802, section 9, asks for it.
"""

import hashlib
import hmac
import math
from collections import Counter
from collections.abc import Iterable, Mapping
from heapq import nlargest
from typing import NamedTuple

from odradek.protocol.security.scram import ITERATIONS_MIN, ScramMechanism
from odradek.protocol.security.scram_credential import ScramCredential

_DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"
_LETTERS = frozenset(_DIGITS.encode())
RANDOM_BITS = 130
"""The size of the salts and nonces that Kafka's tools make (``ScramFormatter.secureRandomString``)."""
LETTERS_MIN, LETTERS_MAX = 23, 26
"""The length of 130 random bits in base 36. One number in a million is shorter."""
FORMS_MAX = 16
"""The number of forms that are made up, the most common ones. There is one for each client library and setting."""


def base_36(number: int) -> str:
    """A number in base 36, with digits and lower-case letters."""
    digits = ""
    while number:
        number, digit = divmod(number, 36)
        digits = _DIGITS[digit] + digits
    return digits or "0"


class Form(NamedTuple):
    """The part of a credential that a client without the password sees, except the salt's value."""

    iterations: int
    salt_bytes: int
    """The length of the salt; 0 for a salt of letters and digits as Kafka's tools make it."""


KAFKAS_FORM = Form(ITERATIONS_MIN, 0)
"""The form of a credential that Kafka's tools make unless told otherwise, and of delegation tokens."""


def form_of(credential: ScramCredential) -> Form:
    """The form of a stored credential."""
    salt = credential.salt
    is_text = LETTERS_MIN <= len(salt) <= LETTERS_MAX and _LETTERS.issuperset(salt)
    return Form(credential.iterations, 0 if is_text else len(salt))


class ScramDecoys:
    """The forms of the stored credentials, and what follows from them for unknown names."""

    def __init__(self, key: bytes) -> None:
        """``key``: a secret of this broker, the same after a restart."""
        self._key = key
        self._known: dict[tuple[str, int], Form] = {}
        self._counts: dict[int, Counter[Form]] = {}
        self._common: dict[int, list[tuple[Form, int]]] = {}
        """Mechanism -> the most common forms with their weights; dropped when a credential changes."""

    def update(
        self, credentials: Mapping[tuple[str, int], ScramCredential], changed: Iterable[tuple[str, int]]
    ) -> None:
        """Takes over changed credentials. ``credentials``: all current ones, by user and mechanism. ``changed``: those
        that are new, changed or removed.
        """
        for user in changed:
            counts = self._counts.setdefault(user[1], Counter())
            old = self._known.pop(user, None)
            if old is not None:
                counts[old] -= 1
                if not counts[old]:
                    del counts[old]
            new = credentials.get(user)
            if new is not None:
                form = self._known[user] = form_of(new)
                counts[form] += 1
            self._common.pop(user[1], None)

    def of_user(self, mechanism: ScramMechanism, name: str) -> ScramCredential:
        """The made-up credential of an unknown user."""
        form = self._form(mechanism, name)
        if form.salt_bytes:
            salt = hashlib.shake_256(self._digest("salt", mechanism, name)).digest(form.salt_bytes)
        else:
            salt = self._text("salt", mechanism, name)
        return self._credential(mechanism, name, salt, form.iterations)

    def of_token(self, mechanism: ScramMechanism, token_id: str) -> ScramCredential:
        """The made-up credential of an unknown delegation token."""
        return self._credential(mechanism, token_id, self.token_salt(mechanism, token_id), KAFKAS_FORM.iterations)

    def token_salt(self, mechanism: ScramMechanism, token_id: str) -> bytes:
        """The salt of a delegation token, whether or not there is such a token. It is not stored."""
        return self._text("token", mechanism, token_id)

    def _form(self, mechanism: ScramMechanism, name: str) -> Form:
        """Chooses by weighted rendezvous hashing: a form that gets more or less common moves few names."""
        common = self._common.get(mechanism.type)
        if common is None:
            counts = self._counts.get(mechanism.type) or Counter({KAFKAS_FORM: 1})
            found = nlargest(FORMS_MAX, counts.items(), key=lambda entry: (entry[1], entry[0]))
            common = self._common[mechanism.type] = [(form, 1 << count.bit_length() - 1) for form, count in found]
        if len(common) == 1:
            return common[0][0]

        def score(one: tuple[Form, int]) -> float:
            form, weight = one
            drawn = self._digest(f"form {form.iterations} {form.salt_bytes}", mechanism, name)
            return -weight / math.log((int.from_bytes(drawn[:6], "big") + 0.5) / (1 << 48))

        return max(common, key=score)[0]

    def _credential(self, mechanism: ScramMechanism, name: str, salt: bytes, iterations: int) -> ScramCredential:
        size = hashlib.new(mechanism.hash).digest_size
        keys = self._digest("keys", mechanism, name)
        return ScramCredential(salt, keys[:size], keys[:size], iterations)

    def _text(self, what: str, mechanism: ScramMechanism, name: str) -> bytes:
        digest = self._digest(what, mechanism, name)
        return base_36(int.from_bytes(digest, "big") >> (8 * len(digest) - RANDOM_BITS)).encode()

    def _digest(self, what: str, mechanism: ScramMechanism, name: str) -> bytes:
        return hmac.digest(self._key, f"{what}\0{mechanism.name}\0{name}".encode(), "sha512")
