"""Modules imported in ``with lazy_imports:`` are executed at their first use, once, by whoever is first."""

import importlib
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import ModuleType

import pytest

from odradek.protocol.common.lazy_imports import execute, is_waiting, lazy_imports

Write = Callable[[str, str], None]

COUNTED = "import builtins\nbuiltins.executions = getattr(builtins, 'executions', 0) + 1\nANSWER = 42\n"
"""A module that counts how often it is executed."""


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Write]:
    """Writes modules of the package ``shop``, which is gone after the test."""
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr("builtins.executions", 0, raising=False)

    def write(name: str, text: str) -> None:
        path = tmp_path / "shop" / f"{name}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        importlib.invalidate_caches()

    write("__init__", "")
    yield write
    for name in [name for name in sys.modules if name.partition(".")[0] == "shop"]:
        del sys.modules[name]


def executions() -> int:
    """The number of executions of counted modules."""
    found: int = vars(importlib.import_module("builtins"))["executions"]
    return found


def imported(name: str) -> ModuleType:
    """A module of ``shop``, imported in a block."""
    with lazy_imports:
        package = __import__("shop", fromlist=[name])
    module: ModuleType = vars(package)[name]
    return module


def test_the_first_use_executes_a_module_once(shop: Write) -> None:
    shop("cellar", COUNTED)
    cellar = imported("cellar")
    assert is_waiting(cellar)
    assert executions() == 0
    assert cellar.ANSWER == 42
    assert not is_waiting(cellar)
    assert cellar.ANSWER + cellar.ANSWER == 84
    assert executions() == 1
    assert cellar.__file__ is not None
    assert cellar.__file__.endswith("cellar.py")
    assert cellar.__spec__ is not None
    assert cellar.__spec__.name == cellar.__name__ == "shop.cellar"


def test_neither_a_second_importer_nor_a_tool_that_looks_at_all_modules_executes_it(shop: Write) -> None:
    shop("cellar", COUNTED)
    first, second = imported("cellar"), imported("cellar")
    importlib.import_module("shop.cellar")
    assert first is second
    assert getattr(first, "__file__", None) is None
    assert executions() == 0
    execute(first)
    execute(first)
    assert executions() == 1


def test_a_name_imported_from_a_waiting_module_executes_it(shop: Write) -> None:
    shop("cellar", COUNTED)
    imported("cellar")
    shop("guest", "from shop.cellar import ANSWER\n")
    assert importlib.import_module("shop.guest").ANSWER == 42


def test_a_package_waits_with_its_modules(shop: Write) -> None:
    shop("wine/__init__", COUNTED)
    shop("wine/red", "COLOUR = 'red'\n")
    with lazy_imports:
        module = __import__("shop.wine", fromlist=["red"])
    assert executions() == 0
    assert module.red.COLOUR == "red"
    assert module.ANSWER == 42
    assert executions() == 1


def test_a_module_that_is_changed_before_its_first_use_keeps_the_change(shop: Write) -> None:
    shop("cellar", COUNTED)
    cellar = imported("cellar")
    setattr(cellar, "answer", 43)  # noqa: B010 - as monkeypatch does
    assert (cellar.answer, cellar.ANSWER) == (43, 42)


def test_an_error_is_raised_at_the_use_and_the_next_use_tries_again(shop: Write, tmp_path: Path) -> None:
    shop("cellar", "import builtins\nif not builtins.executions:\n    raise OSError('no descriptor')\nANSWER = 42\n")
    cellar = imported("cellar")
    for _ in range(2):
        with pytest.raises(OSError, match="no descriptor"):
            _ = cellar.ANSWER
    assert is_waiting(cellar)
    vars(importlib.import_module("builtins"))["executions"] = 1
    assert cellar.ANSWER == 42


def test_a_module_of_ours_that_does_not_exist_is_missed_at_its_use() -> None:
    with lazy_imports:
        missing = __import__("odradek.protocol", fromlist=["no_such_module"]).no_such_module
    try:
        with pytest.raises(ModuleNotFoundError, match="no_such_module"):
            _ = missing.anything
    finally:
        del sys.modules["odradek.protocol.no_such_module"]


def test_a_library_that_is_not_installed_is_missed_at_once() -> None:
    with lazy_imports, pytest.raises(ModuleNotFoundError):
        __import__("no_such_library")
    assert importlib.util.find_spec("no_such_library") is None


def test_what_a_module_imports_itself_is_not_lazy(shop: Write) -> None:
    shop("cellar", COUNTED)
    shop("house", "from . import cellar\n")
    house = imported("house")
    with lazy_imports:
        execute(house)
    assert executions() == 1


def test_modules_that_import_each_other_lazily(shop: Write) -> None:
    lazily = "from odradek.protocol.common.lazy_imports import lazy_imports\nwith lazy_imports:\n    from . import {}\n"
    shop("hen", lazily.format("egg") + "def age():\n    return egg.AGE + 1\n")
    shop("egg", lazily.format("hen") + "AGE = 1\ndef parent():\n    return hen.age()\n")
    assert imported("egg").parent() == 2


def test_many_threads_execute_a_module_once_and_see_all_of_it(shop: Write) -> None:
    entered, goes_on = threading.Event(), threading.Event()
    vars(importlib.import_module("builtins")).update(entered=entered, goes_on=goes_on)
    try:
        shop("cellar", COUNTED + "builtins.entered.set()\nassert builtins.goes_on.wait(60)\nLAST = 1\n")
        cellar = imported("cellar")
        with ThreadPoolExecutor(8) as pool:
            uses = [pool.submit(lambda: cellar.LAST) for _ in range(8)]
            assert entered.wait(60)
            assert not any(use.done() for use in uses)
            goes_on.set()
            assert [use.result(60) for use in uses] == [1] * 8
        assert executions() == 1
    finally:
        for name in ("entered", "goes_on"):
            del vars(importlib.import_module("builtins"))[name]


def test_an_extension_of_the_standard_library() -> None:
    program = (
        "import sys\n"
        "from odradek.protocol.common.lazy_imports import is_waiting, lazy_imports\n"
        "with lazy_imports:\n    import resource\n"
        "print(is_waiting(resource), resource.getrlimit(resource.RLIMIT_NOFILE)[0] > 0, is_waiting(resource))\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["True", "True", "False"]
