"""Frames of a hostile client, from a seed: mutated requests, random bytes, wrong sizes, and some valid ones.

``hostile_frame(seed, number)`` is one frame with its size, the same for the same arguments. There are only a few names,
so that frames refer to the topics and groups of earlier ones, and valid frames do not create many.
"""

import random

from odradek.broker.dispatch.served import SERVED, served_versions
from odradek.broker.lanes.lanes import LANES
from odradek.protocol.apis.api_keys import api
from odradek.protocol.codec import Message
from odradek.protocol.codec.header import encode_request
from odradek.protocol.framing.frames import SIZE
from support.data.messages import MessageGenerator

NAMES = ("a", "b", "group-1", "group-2", "member", "", "__consumer_offsets", "bad name", "x" * 250, "\U0001f9f5")
LENGTHS = (b"\x7f\xff\xff\xff", b"\x80\0\0\0", b"\xff\xff\xff\xff", b"\0\0\xff\xff", b"\xff\xff\xff\xff\x0f", b"\0")
"""The values of false counts and lengths."""


class FewNames(MessageGenerator):
    """Random messages whose strings are mostly of :data:`NAMES`."""

    def _string(self) -> str:
        return self._rng.choice(NAMES) if self._rng.random() < 0.95 else super()._string()


def random_request(rng: random.Random) -> tuple[Message, int]:
    """A request of any API and version that is served. A third are of the APIs that have a lane."""
    api_key = rng.choice(sorted(LANES if rng.random() < 0.25 else SERVED))
    version = rng.randint(*served_versions(api_key))
    return FewNames(rng).message(api(api_key).request_class(), version), version


def hostile_frame(seed: int, number: int) -> bytes:
    """One frame, after its size."""
    rng = random.Random(f"{seed} {number}")
    if rng.random() < 0.1:
        body = rng.randbytes(rng.choice((0, 1, 2, 3, 4, 7, 8, 9, 10, 20, 100, 3000)))
        return SIZE.pack(len(body)) + body
    message, version = random_request(rng)
    frame = bytearray(encode_request(message, version, rng.getrandbits(31), rng.choice(("client", "", None))))
    if rng.random() < 0.2:
        return bytes(frame)
    for _ in range(rng.choice((1, 1, 1, 2, 4))):
        _mutate(rng, frame)
    if rng.random() < 0.9:
        # Most have the right size, so that the error is found after it.
        frame[:4] = SIZE.pack(len(frame) - 4) if len(frame) >= 4 else b"\0\0\0\0"
    return bytes(frame)


def _mutate(rng: random.Random, frame: bytearray) -> None:
    # Seldom in the header, because a refused header does not reach other code.
    at = rng.randrange(min(12 if rng.random() < 0.9 else 0, len(frame)), len(frame) + 1)
    match rng.randrange(20):
        case 0:
            frame[4:8] = rng.randbytes(4)  # another API and version
        case 1:
            frame[6:8] = rng.randrange(20).to_bytes(2)  # the body of one version with the number of another
        case 2 | 3:
            del frame[at:]
        case 4 | 5:
            del frame[at : at + rng.choice((1, 2, 4, 100))]
        case 6 | 7:
            frame[at:at] = rng.randbytes(rng.choice((1, 2, 4, 100)))
        case 8 | 9 | 10:
            length = rng.choice(LENGTHS)
            frame[at : at + len(length)] = length
        case _:
            frame[at : at + 1] = rng.randbytes(1)
