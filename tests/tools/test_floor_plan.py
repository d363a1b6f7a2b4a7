"""The measurement of imports in `make check` is right for a small invented package, and covers all of Odradek."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tools import floor_plan

ROOT = Path(__file__).parents[2]

PYPROJECT = """
[tool.importlinter]
root_package = "house"

[[tool.importlinter.contracts]]
name = "the shop"
type = "layers"
containers = ["house.shop"]
layers = ["door", "till | shelf", "cellar", "cellar.wine"]

[[tool.importlinter.contracts]]
name = "not about layers"
type = "forbidden"
source_modules = ["house.shop"]
forbidden_modules = ["house.street"]

[tool.odradek.rooms.shop]
unplaced = 1
back = 2
circles = 1
loops = 1
"""

FILES = {
    "shop/__init__.py": "from .door import open_door",
    "shop/door.py": "from house.shop import till\nfrom house.shop.cellar import cool\nimport os\n",
    "shop/till.py": "def pay():\n    from .shelf import price\n",  # the same layer, inside a function
    "shop/shelf.py": "import house.shop.cellar.wine\n",
    "shop/lamp.py": "from house import street\n",  # in no layer; house.street is not measured
    "shop/cellar/__init__.py": "from house.shop.cellar.ice import cool\nfrom house.shop.door import bell\n",
    "shop/cellar/ice.py": "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from ..cellar.wine import Bottle\n",
    "shop/cellar/wine.py": "from . import ice\nfrom .. import lamp, till as money\n",
}


@pytest.fixture
def house(tmp_path: Path) -> Path:
    for name, text in {"pyproject.toml": PYPROJECT, **FILES}.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return tmp_path


def plan_of(house: Path) -> floor_plan.FloorPlan:
    [(plan, _)] = floor_plan.floor_plans(house)
    return plan


def test_all_imports_count_and_those_of_an_init_file_do_not(house: Path) -> None:
    plan = plan_of(house)
    assert plan.arrows == {
        "door": {"till", "cellar"},
        "till": {"shelf"},
        "shelf": {"cellar"},
        "lamp": set(),
        "cellar": {"lamp", "till"},
    }
    assert plan.loose == ["door", "lamp", "shelf", "till"]
    assert plan.unplaced == ["lamp"]


def test_an_arrow_back_is_one_that_does_not_go_to_a_lower_layer(house: Path) -> None:
    assert plan_of(house).back == [
        "cellar -> till: house.shop.cellar.wine imports house.shop.till",
        "till -> shelf: house.shop.till imports house.shop.shelf",
    ]


def test_circles_are_found_between_modules_and_between_boxes(house: Path) -> None:
    plan = plan_of(house)
    assert plan.circles == ["house.shop.cellar.ice <-> house.shop.cellar.wine <-> house.shop.shelf <-> house.shop.till"]
    assert plan.loops == ["cellar <-> shelf <-> till"]
    assert plan.floors == 3  # door, the loop, lamp


def test_a_name_that_an_init_file_re_exports_counts_as_its_module(house: Path) -> None:
    (house / "shop/lamp.py").write_text("from house.shop.cellar import cool, bell\n")
    sources = floor_plan.Sources(house, "house", {"shop": {}})
    assert sources.imports("house.shop.lamp") == {"house.shop.cellar.ice", "house.shop.door"}


def test_names_that_init_files_hand_to_each_other_end_the_search(house: Path) -> None:
    (house / "shop/__init__.py").write_text("from house.shop.cellar import ghost\n")
    (house / "shop/cellar/__init__.py").write_text("from house.shop import ghost\n")
    (house / "shop/lamp.py").write_text("from house.shop import ghost\n")
    sources = floor_plan.Sources(house, "house", {"shop": {}})
    assert sources.imports("house.shop.lamp") <= {"house.shop", "house.shop.cellar"}


def run(house: Path) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, floor_plan.__file__, str(house)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_the_exit_code_tells_if_a_limit_is_exceeded(house: Path) -> None:
    at_the_limit = run(house)
    assert at_the_limit.returncode == 0, at_the_limit.stdout
    cells = at_the_limit.stdout.splitlines()[1].split()
    assert cells == ["shop", "5", "4", "1", "6", "2", "1", "1", "3"]

    (house / "shop/shelf.py").write_text("import house.shop.cellar.wine\nfrom house.shop.door import open_door\n")
    above = run(house)
    assert above.returncode == 1
    assert "shop: back is 3, the limit is 2" in above.stdout
    assert "    shelf -> door: house.shop.shelf imports house.shop.door" in above.stdout
    assert "circles is" not in above.stdout


@pytest.mark.parametrize("measure", floor_plan.LIMITED)
def test_each_limit_is_0_if_it_is_not_named(house: Path, measure: str) -> None:
    path = house / "pyproject.toml"
    path.write_text(re.sub(rf"^{measure} = \d\n", "", path.read_text(), flags=re.MULTILINE))
    result = run(house)
    assert result.returncode == 1
    assert f"shop: {measure} is" in result.stdout


def test_a_limit_that_can_be_lowered_is_named(house: Path) -> None:
    (house / "shop/till.py").write_text("")
    result = run(house)
    assert result.returncode == 0
    assert "shop: lower the limit of back from 2 to 1" in result.stdout


def test_an_unknown_limit_is_refused(house: Path) -> None:
    path = house / "pyproject.toml"
    path.write_text(path.read_text().replace("back = ", "backs = "))
    with pytest.raises(AssertionError, match=r"rooms\.shop"):
        floor_plan.floor_plans(house)


def test_every_package_of_odradek_but_the_fixtures_is_measured() -> None:
    plans = {plan.package: plan for plan, _ in floor_plan.floor_plans(ROOT)}
    packages = {path.parent.name for path in (ROOT / "odradek").glob("*/__init__.py")}
    assert set(plans) == packages - {"testing"}
    assert {"api", "config"} <= plans["broker"].arrows.keys()
    assert plans["broker"].arrows["api"], "imports are found"


@pytest.mark.parametrize("package", ["broker", "client", "console", "pipeline", "protocol", "storage", "testing"])
def test_the_page_of_the_architecture_names_every_room(package: str) -> None:
    page = (ROOT / "docs" / "architecture.md").read_text()
    if package == "broker":
        part = page.partition("# Rooms of the broker")[2].partition("\n## ")[0]
    else:
        part = page.rpartition(f"\n| `{package}/` | ")[2].partition("\n")[0]
    rooms = [path.name for path in (ROOT / package).iterdir() if (path / "__init__.py").exists()]
    assert [room for room in rooms if f"`{room}/`" not in part] == []
