"""Measures the imports inside each large package: its floor plan.

Owns: the counts that ``make check`` prints, and their comparison with the limits in ``pyproject.toml``.
Never: imports the code that it measures; it only reads the source text.

A box is a file or a folder directly inside a package. An arrow is a pair of boxes of which one imports the other. All
imports count, including those under ``TYPE_CHECKING`` and inside functions. ``__init__.py`` files are left out: an
import of a name that one of them re-exports counts as an import of the module that defines the name.

    boxes      files and folders directly inside the package
    loose      boxes that are files
    unplaced   boxes that no contract of layers names; their arrows have no direction yet
    arrows     pairs of boxes with at least one import
    back       arrows to the same layer or to a higher one, by import-linter's contracts of type "layers"
    circles    groups of modules that import each other
    loops      groups of boxes that import each other
    floors     boxes on the longest chain of imports; a loop counts as one

``[tool.odradek.rooms.PACKAGE]`` limits ``unplaced``, ``back``, ``circles`` and ``loops`` from above, 0 by default.
Usage: ``python tests/tools/floor_plan.py [ROOT]``. The exit code is 1 if a limit is exceeded.
"""

import ast
import sys
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from graphlib import TopologicalSorter
from pathlib import Path
from typing import Any

Graph = dict[str, set[str]]

COLUMNS = ("package", "boxes", "loose", "unplaced", "arrows", "back", "circles", "loops", "floors")
LIMITED = ("unplaced", "back", "circles", "loops")


class Sources:
    """The modules of the measured packages. ``files`` maps full module names to paths."""

    def __init__(self, root: Path, root_package: str, packages: Mapping[str, object]) -> None:
        self.files: dict[str, Path] = {}
        for package in packages:
            for path in sorted((root / package).rglob("*.py")):
                parts = path.relative_to(root).with_suffix("").parts
                name = ".".join((root_package, *(parts[:-1] if parts[-1] == "__init__" else parts)))
                self.files[name] = path
        self._re_exports: dict[str, dict[str, tuple[str, str]]] = {}

    def is_init(self, module: str) -> bool:
        """Returns True if ``module`` is an ``__init__.py``."""
        return self.files[module].name == "__init__.py"

    def imports(self, module: str) -> set[str]:
        """The measured modules that ``module`` imports. An ``__init__.py`` is only named if it defines the name."""
        found = set()
        for origin, name in self._statements(module):
            if origin in self.files and (target := self._definer(origin, name)) != module:
                found.add(target)
        return found

    def _statements(self, module: str) -> Iterator[tuple[str, str]]:
        """Pairs (module, imported name or empty) of each import statement, with relative ones made absolute."""
        package = module if self.is_init(module) else module.rpartition(".")[0]
        for node in ast.walk(ast.parse(self.files[module].read_text())):
            if isinstance(node, ast.Import):
                yield from ((alias.name, "") for alias in node.names)
            elif isinstance(node, ast.ImportFrom):
                origin = node.module or ""
                if node.level:
                    above = package.split(".")[: len(package.split(".")) - node.level + 1]
                    origin = ".".join([*above, origin]) if origin else ".".join(above)
                for alias in node.names:
                    # `from odradek.broker import api` also when odradek itself is not measured
                    inner = f"{origin}.{alias.name}"
                    yield (inner, "") if inner in self.files else (origin, alias.name)

    def _definer(self, module: str, name: str) -> str:
        """Follows re-exports of ``name`` by ``__init__.py`` files to the module that defines it."""
        seen = set()
        while name and self.is_init(module) and (module, name) not in seen:
            seen.add((module, name))
            if module not in self._re_exports:
                names = [(origin, name) for origin, name in self._statements(module) if origin in self.files]
                self._re_exports[module] = {name: (origin, name) for origin, name in names if origin != module}
            module, name = self._re_exports[module].get(name, (module, ""))
        return module


@dataclass
class FloorPlan:
    """The measurements of one package. Boxes are named without the package, modules in full."""

    package: str
    arrows: Graph  # every box is a key, also one without imports
    loose: list[str]
    unplaced: list[str]
    back: list[str]  # each with the imports that cause it
    circles: list[str]
    loops: list[str]
    floors: int

    def row(self) -> tuple[str, ...]:
        """The package's cells below ``COLUMNS``."""
        arrows = sum(len(targets) for targets in self.arrows.values())
        counts = [len(self.arrows), len(self.loose), len(self.unplaced), arrows]
        counts += [len(self.back), len(self.circles), len(self.loops), self.floors]
        return (self.package, *map(str, counts))

    def exceeded(self, limits: Mapping[str, int]) -> Iterator[str]:
        """One paragraph for each limit that is exceeded. It lists everything that was counted."""
        for measure in LIMITED:
            found: list[str] = getattr(self, measure)
            limit = limits.get(measure, 0)
            if len(found) > limit:
                lines = "".join(f"\n    {line}" for line in found)
                yield f"{self.package}: {measure} is {len(found)}, the limit is {limit}{lines}"

    def too_generous(self, limits: Mapping[str, int]) -> Iterator[str]:
        """The limits that can be lowered, as text."""
        for measure, limit in limits.items():
            if (count := len(getattr(self, measure))) < limit:
                yield f"{self.package}: lower the limit of {measure} from {limit} to {count}"


def circles(graph: Graph) -> list[list[str]]:
    """The sets of nodes that reach each other, of two nodes or more, sorted."""
    reached = {node: reachable(graph, node) for node in graph}
    found = {frozenset(other for other in reached[node] if node in reached[other]) for node in graph}
    return sorted(sorted(circle) for circle in found if len(circle) > 1)


def reachable(graph: Graph, start: str) -> set[str]:
    """All nodes to which a path of at least one arrow leads from ``start``."""
    found: set[str] = set()
    waiting = [start]
    while waiting:
        new = graph[waiting.pop()] - found
        found |= new
        waiting.extend(new)
    return found


def longest_chain(graph: Graph) -> int:
    """The number of nodes on the longest path, after each circle has been merged into one node."""
    merged = {node: circle[0] for circle in circles(graph) for node in circle}
    small: Graph = {}
    for node, targets in graph.items():
        name = merged.get(node, node)
        small.setdefault(name, set()).update({merged.get(target, target) for target in targets} - {name})
    floors: dict[str, int] = {}
    for node in TopologicalSorter(small).static_order():  # imported boxes come first
        floors[node] = 1 + max((floors[target] for target in small[node]), default=0)
    return max(floors.values(), default=0)


def declared_orders(contracts: list[dict[str, Any]], package: str) -> list[dict[str, int]]:
    """For each contract of layers, the layers of those boxes of ``package`` that it names, 0 being the highest.

    ``package`` is a full name. Layers deeper than a box and layers of other packages are left out.
    """
    orders = []
    for contract in contracts:
        if contract["type"] != "layers":
            continue
        order = {}
        for container in contract.get("containers", [""]):
            for number, layer in enumerate(contract["layers"]):
                for name in layer.replace(":", "|").split("|"):
                    module = f"{container}.{name.strip().strip('()')}".lstrip(".")
                    parent, _, box = module.rpartition(".")
                    if parent == package:
                        order[box] = number
        if order:
            orders.append(order)
    return orders


def measure(sources: Sources, package: str, orders: list[dict[str, int]]) -> FloorPlan:
    """Measures ``package`` (a full name, such as ``odradek.broker``)."""
    inside = [module for module in sources.files if module.startswith(f"{package}.")]
    depth = package.count(".") + 1
    folders = {module.split(".")[depth] for module in inside if module.count(".") > depth or sources.is_init(module)}
    boxes: Graph = {module.split(".")[depth]: set() for module in inside}
    modules: Graph = {module: set() for module in inside if not sources.is_init(module)}
    causes: dict[tuple[str, str], list[str]] = {}
    for module in modules:
        for target in sources.imports(module) & set(inside):
            if target in modules:
                modules[module].add(target)
            box, other = module.split(".")[depth], target.split(".")[depth]
            if box != other:
                boxes[box].add(other)
                causes.setdefault((box, other), []).append(f"{module} imports {target}")
    upward = {
        (box, other)
        for order in orders
        for box, other in causes
        if box in order and other in order and order[box] >= order[other]
    }
    return FloorPlan(
        package.rpartition(".")[2],
        boxes,
        loose=sorted(set(boxes) - folders),
        unplaced=sorted(box for box in boxes if not any(box in order for order in orders)),
        back=[f"{box} -> {other}: {', '.join(sorted(causes[box, other]))}" for box, other in sorted(upward)],
        circles=[" <-> ".join(circle) for circle in circles(modules)],
        loops=[" <-> ".join(circle) for circle in circles(boxes)],
        floors=longest_chain(boxes),
    )


def floor_plans(root: Path) -> list[tuple[FloorPlan, dict[str, int]]]:
    """Measures each package that ``[tool.odradek.rooms]`` of ``root`` names, with its limits."""
    settings = tomllib.loads((root / "pyproject.toml").read_text())["tool"]
    linter, rooms = settings["importlinter"], settings["odradek"]["rooms"]
    for package, limits in rooms.items():
        assert set(limits) <= set(LIMITED), f"[tool.odradek.rooms.{package}] has an unknown limit"
    sources = Sources(root, linter["root_package"], rooms)
    plans = []
    for package, limits in rooms.items():
        name = f"{linter['root_package']}.{package}"
        plans.append((measure(sources, name, declared_orders(linter["contracts"], name)), limits))
    return plans


def main(root: Path) -> int:
    """Prints the table, the limits that are exceeded and those that can be lowered; returns the exit code."""
    plans = floor_plans(root)
    table = [COLUMNS, *(plan.row() for plan, _ in plans)]
    for name, *counts in table:
        print(name.ljust(10) + "".join(count.rjust(10) for count in counts))
    for plan, limits in plans:
        print("".join(f"\n{hint}" for hint in plan.too_generous(limits)), end="")
    exceeded = [paragraph for plan, limits in plans for paragraph in plan.exceeded(limits)]
    print("".join(f"\n{paragraph}" for paragraph in exceeded))
    return 1 if exceeded else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parents[2]))
