"""The packages of the client export each name of ``__all__``, and import it when it is first used."""

import importlib
import inspect
import re
import subprocess
import sys
from pathlib import Path

import pytest

from odradek.client import Consumer, Producer

PAGE = Path(__file__).parents[2] / "docs" / "client.md"
PACKAGES = ["odradek.client", "odradek.client.admin", "odradek.client.consumer", "odradek.client.producer"]

ADDED = """
import importlib, sys
importlib.import_module(sys.argv[1])
print(*sorted(name for name in sys.modules if name.startswith("odradek.")))
"""


@pytest.mark.parametrize("package", PACKAGES)
def test_a_package_exports_what_it_names_and_nothing_else(package: str) -> None:
    module = importlib.import_module(package)
    assert {getattr(module, name).__name__ for name in module.__all__} == set(module.__all__)
    with pytest.raises(AttributeError, match=rf"^module '{package}' has no attribute 'Produce'$"):
        module.Produce  # noqa: B018 - the attribute is what is tested


@pytest.mark.parametrize("package", PACKAGES)
def test_the_import_of_a_package_imports_none_of_its_modules(package: str) -> None:
    command = [sys.executable, "-c", ADDED, package]
    imported = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
    shared = {"odradek.protocol", "odradek.protocol.common", "odradek.protocol.common.lazy_exports"}
    assert set(imported) == {package, "odradek.client", *shared}


@pytest.mark.parametrize("client", [Producer, Consumer])
def test_the_page_names_the_arguments_of_the_client(client: type[Producer | Consumer]) -> None:
    match = re.search(rf"^\| `{client.__name__}\((.*)\)` \|", PAGE.read_text(), re.MULTILINE)
    assert match is not None
    named = set(re.findall(r"(\w+)(?:=(?:\([^)]*\)|[^,]*))?(?:, |$)", match[1]))
    taken = set(inspect.signature(client).parameters)
    assert named <= taken
    assert named == taken or match[1].endswith("…"), taken - named
