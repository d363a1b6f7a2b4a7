"""The worked example in CONTRIBUTING.md runs, and the names in its commands exist."""

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from odradek.broker.dispatch.request import RequestContext
from odradek.broker.metadata.image.image import MetadataImage
from odradek.protocol.errors import ErrorCode
from odradek.protocol.messages.metadata_records import UserScramCredentialRecord
from odradek.protocol.messages.security import DescribeUserScramCredentialsRequest
from support.brokers.metadata_images import apply
from support.brokers.parts import ImageOnly, PartialBroker

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "CONTRIBUTING.md").read_text()
NAME = "odradek.broker.api.describe_user_scram_credentials"
NOW_MS = 1_700_000_000_000


@pytest.fixture
def example() -> Iterator[Any]:
    """The example's handler, loaded as the module that CONTRIBUTING.md names."""
    _, handler = re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL)
    module = ModuleType(NAME)
    module.__package__ = NAME.rpartition(".")[0]
    before = sys.modules.get(NAME)
    sys.modules[NAME] = module
    exec(compile(handler, "CONTRIBUTING.md", "exec"), module.__dict__)
    yield module
    del sys.modules[NAME]
    if before is not None:
        sys.modules[NAME] = before


def ask(example: Any, names: list[str] | None) -> list[tuple[str, int, list[tuple[int, int]]]]:
    """Calls the example's handler. Returns (user, error code, [(mechanism, iterations)]) for each user."""
    image = MetadataImage()
    stored = (("alice", 1), ("bob", 1), ("alice", 2))
    apply(image, [UserScramCredentialRecord(name, kind, b"salt", b"key", b"key", 4096) for name, kind in stored])
    users = None if names is None else [DescribeUserScramCredentialsRequest.UserName(name) for name in names]
    context = RequestContext(example.API_KEY, 0, "client", "127.0.0.1", "PLAINTEXT", 1, NOW_MS)
    replies: list[Any] = []
    broker = PartialBroker(metadata=ImageOnly(image))
    example.handle(broker, DescribeUserScramCredentialsRequest(users), context, replies.append)
    [reply] = replies
    return [(r.user, r.error_code, [(c.mechanism, c.iterations) for c in r.credential_infos]) for r in reply.results]


def test_the_example_answers(example: Any) -> None:
    alice, bob = ("alice", 0, [(1, 4096), (2, 4096)]), ("bob", 0, [(1, 4096)])
    assert ask(example, None) == ask(example, []) == [alice, bob]
    assert ask(example, ["bob", "carol"]) == [bob, ("carol", ErrorCode.RESOURCE_NOT_FOUND, [])]
    assert ask(example, ["bob", "bob"]) == [("bob", ErrorCode.DUPLICATE_RESOURCE, [])]


def test_the_files_that_are_named_exist() -> None:
    named = set(re.findall(r"\b(?:broker|client|docs|pipeline|protocol|storage|tests)/[\w./-]*\w/?", TEXT))
    not_there = {name for name in named if not (ROOT / name).exists()}
    assert not_there == set()
