"""The order of the tests, and which of them one worker of pytest-xdist takes at once (``make test`` has two workers).

A worker takes one file after the other, or a whole folder where its tests share what is dear to start. What takes
longest comes first, so that no worker is left alone with it at the end. Without workers the order is the same.
"""

TOGETHER = ("tests/parity/", "tests/docker/")
"""Folders of one Kafka beside one broker of ours, and of one Docker engine."""
FIRST = (
    *TOGETHER,
    "tests/pipeline/compact/",
    "tests/pipeline/importing/",
    "tests/clients/",
    "tests/door/",
    "tests/faults/",
    "tests/testing/",
    "tests/pipeline/",
    "tests/client/",
    "tests/scale/",
)


def unit(node_id: str) -> str:
    """The unit that a worker takes at once: the folder or the file of a test."""
    return next((folder for folder in TOGETHER if node_id.startswith(folder)), node_id.partition("::")[0])


def place(node_id: str) -> int:
    """The place in the order of all tests; tests of the same place keep their order."""
    return next((number for number, folder in enumerate(FIRST) if node_id.startswith(folder)), len(FIRST))
