"""The recipes of docs/docker-and-kubernetes.md, run for real: only names and the network are the tests' own.

A private engine has no bridge (``support/docker/engine.py``), so containers get no network and publish no port.
"""

import itertools
import os
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest

from .compose import project
from .container import Image
from .entry_points import DOCKER

PAGE = DOCKER.parent / "docs" / "docker-and-kubernetes.md"
RECIPES = PAGE.read_text().partition("\n## Recipes\n")[2].partition("\n## ")[0]
BLOCKS = {
    recipe.partition("\n")[0]: recipe.partition("```sh\n")[2].partition("```")[0]
    for recipe in RECIPES.split("\n### ")[1:]
    if "```sh\n" in recipe
}
COMPOSE = re.findall(r"^```yaml\n(.*?)^```", RECIPES, re.MULTILINE | re.DOTALL)
_numbers = itertools.count(1)

pytestmark = pytest.mark.ci


class Reader:
    """Runs the commands of a recipe."""

    def __init__(self, image: Image) -> None:
        self._image = image
        self.name = f"odradek-recipe-{os.getpid()}-{next(_numbers)}"

    def run(self, line: str) -> str:
        """The output of one command, which must succeed."""
        docker, action, *words = shlex.split(re.sub(r" -p \d+:\d+", "", line))
        assert docker == "docker"
        if action == "run":
            words[words.index("odradek")] = self._image.tag
            words = ["--network", "none", *words]
        words = [re.sub(r"^kafka(?=$|-data)", self.name, word) for word in words]
        return self._image.engine.run(action, *words)

    def end(self) -> None:
        """Removes what a failed recipe has left."""
        self._image.engine.attempt("rm", "--force", "--volumes", self.name)
        self._image.engine.attempt("volume", "rm", "--force", f"{self.name}-data")


@pytest.fixture
def reader(image: Image) -> Iterator[Reader]:
    one = Reader(image)
    yield one
    one.end()


def test_the_page_has_recipes() -> None:
    assert len(BLOCKS) == RECIPES.count("```sh\n") == 5
    assert len(COMPOSE) == 1


@pytest.mark.parametrize("recipe", BLOCKS)
def test_a_recipe(reader: Reader, recipe: str) -> None:
    said = [reader.run(line) for line in BLOCKS[recipe].splitlines()]
    assert any(text.startswith("healthy") for text in said), said


def test_another_service_waits_until_the_broker_serves(image: Image, tmp_path: Path) -> None:
    file = tmp_path / "compose.yaml"
    file.write_text(COMPOSE[0].replace("image: odradek", f"image: {image.tag}"))
    with project(image.engine, file, {}) as composed:
        said = composed.run("run", "--rm", "service")
        assert "PartitionCount: 1" in said
