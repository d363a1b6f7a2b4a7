"""The house rules that no linter knows: purity of the cores, file and function length, names, docs."""

import ast
import re
import subprocess
from pathlib import Path

import pytest

from support.each import each
from tools import purity
from tools.places import DOCUMENTS, ROOT, relative
from tools.plain_english import docstrings_without_a_fact, prose, refused_phrases

ROOMS = ("broker", "client", "console", "pipeline", "protocol", "storage", "testing")
SOURCES = sorted(path for room in ROOMS for path in (ROOT / room).rglob("*.py"))
TESTS = sorted(path for room in ("tests", "bench") for path in (ROOT / room).rglob("*.py"))
GENERATED = re.compile(r"^(protocol/messages/|broker/config/data/)")

# What must say `Pure.` (tests/tools/purity.py): a package in its `__init__.py`, a module itself or in its package.
CORES = [
    "broker/storage_tool/adopt/found.py",
    "broker/storage_tool/adopt/plan.py",
    "broker/storage_tool/adopt/records.py",
    "broker/metrics/cleaner_state.py",
    "broker/groups/consumer/",
    "broker/replicas/directories/disk_space.py",
    "broker/fetch/partition_read.py",
    "broker/fetch/read.py",
    "broker/fetch/session.py",
    "broker/fetch/wait.py",
    "broker/groups/core.py",
    "broker/groups/classic/",
    "broker/timers/log_lines.py",
    "broker/metadata/controller/configs.py",
    "broker/metadata/controller/elections.py",
    "broker/metadata/image/image.py",
    "broker/metadata/controller/placement.py",
    "broker/metadata/controller/reassignments.py",
    "broker/metadata/controller/registration.py",
    "broker/metadata/image/replay.py",
    "broker/metadata/log/snapshot.py",
    "broker/metadata/controller/topic_changes.py",
    "broker/metadata/controller/topics.py",
    "broker/groups/offsets/",
    "broker/replicas/partition.py",
    "broker/timers/patience.py",
    "broker/timers/timer_queue.py",
    "broker/transactions/",
    "client/producer/accumulator.py",
    "client/producer/delivery.py",
    "client/group/assignors/",
    "client/producer/partitioner.py",
    "client/group/subscription.py",
    "protocol/codec/decode.py",
    "protocol/codec/encode.py",
    "protocol/codec/runtime.py",
    "protocol/exchange.py",
    "protocol/framing/frames.py",
    "protocol/framing/growing_buffer.py",
    "protocol/codec/header.py",
    "protocol/messages/",
    "protocol/records/",
    "protocol/reference/",
    "storage/log/append_plan.py",
    "storage/compaction/batch_records.py",
    "storage/compaction/plain_steps.py",
    "storage/compaction/record_steps.py",
    "storage/compaction/retention.py",
    "storage/compaction/selection.py",
    "storage/log/leader_epochs.py",
    "storage/log/log_config.py",
    "storage/log/log_retention.py",
    "storage/producers/producer_state.py",
]
MAX_FILE_LINES = 600
MAX_FUNCTION_LINES = 60
LONG_FUNCTIONS = {
    "pipeline/decode/record_walk.py _walk": "a compiled loop, which a helper makes six times as slow",
}
"""Functions that may have more lines, and why."""


@each("path", SOURCES, ids=relative)
def test_a_module_that_says_it_is_pure_is(path: Path) -> None:
    exceptions = purity.claim_at(path, ROOT)
    impure = [] if exceptions is None else purity.impurities(path.read_text(), exceptions)
    assert not impure, f"{relative(path)} says `Pure.`: mend it, or what it says (`Shell.` where its package is pure)"


@pytest.mark.parametrize("core", CORES)
def test_the_cores_say_that_they_are_pure(core: str) -> None:
    path = ROOT / core / "__init__.py" if core.endswith("/") else ROOT / core
    assert path.is_file(), f"{core} was moved: name its new place in CORES"
    assert purity.claim_at(path, ROOT) is not None


def test_files_and_functions_are_small() -> None:
    long = []
    for path in [*SOURCES, *TESTS]:
        if GENERATED.match(relative(path)):
            continue
        text = path.read_text()
        if (lines := text.count("\n")) > MAX_FILE_LINES:
            long.append(f"{relative(path)} has {lines} lines")
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                size = (node.end_lineno or 0) - node.lineno + 1
                if size > MAX_FUNCTION_LINES and f"{relative(path)} {node.name}" not in LONG_FUNCTIONS:
                    long.append(f"{relative(path)}:{node.lineno} {node.name} has {size} lines")
    assert not long


def test_the_folders_of_the_tests_are_those_of_the_packages() -> None:
    folders = {path.parent for room in ROOMS for path in (ROOT / "tests" / room).rglob("test_*.py")}
    names = {str(folder.relative_to(ROOT / "tests")) for folder in folders}
    unknown = {name for name in names if not (ROOT / "odradek" / name).is_dir()}
    assert not unknown, "name a folder of tests as the room that they test"


MAX_LATE_IMPORTS = 36
"""The most imports inside functions. What a start does not need is imported in ``with lazy_imports:`` at the top of a
module; libraries that may be missing are imported where they are used."""


def test_what_a_module_needs_stands_at_its_top() -> None:
    found = sorted(
        {
            f"{relative(path)}:{node.lineno}"
            for path in SOURCES
            for function in ast.walk(ast.parse(path.read_text()))
            if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef)
            for node in ast.walk(function)
            if isinstance(node, ast.Import | ast.ImportFrom)
        }
    )
    assert len(found) <= MAX_LATE_IMPORTS, found


MAY_SET_ATTRIBUTES = {"broker/server/logging_setup.py": "of log records, which it completes"}


def test_the_server_sets_no_attribute_of_a_part() -> None:
    """Parts are complete when they are made (``server/wiring.py``), and change themselves in their methods."""
    found = [
        f"{relative(path)}:{target.lineno} {ast.unparse(target)}"
        for path in (ROOT / "broker" / "server").glob("*.py")
        if relative(path) not in MAY_SET_ATTRIBUTES
        for node in ast.walk(ast.parse(path.read_text()))
        for target in (node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)])
        if isinstance(target, ast.Attribute) and ast.unparse(target.value) != "self"
    ]
    assert not found


MAY_SLEEP = {
    "tests/support/eventually.py": "looks again after a while, for all others",
    "tests/broker/timers/test_stall_watch.py": "the sleep is the stall that is tested",
    "tests/testing/test_forked.py": "the sleep is the late child that is tested",
    "tests/faults/nemesis.py": "a seeded fault lasts for a seeded time",
    "tests/cluster/fire/cluster_nemesis.py": "a seeded fault lasts for a seeded time",
    "tests/support/fire/crew.py": "a seeded fault lasts for a seeded time",
    "tests/cluster/simulator/loop.py": "the time that passes is virtual",
    "tests/scale/test_group_scale.py": "members send heartbeats at their interval",
}
"""Modules of the tests that sleep, and why none of them waits for an event that way."""


def sleeps(source: str) -> list[int]:
    """The lines with a call of ``sleep``; ``sleep(0)`` does not count, which only lets the event loop run."""
    calls = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Call)]
    return sorted(
        call.lineno
        for call in calls
        if purity.dotted(call.func).rpartition(".")[2] == "sleep"
        and not (call.args and isinstance(call.args[0], ast.Constant) and call.args[0].value == 0)
    )


def test_a_sleep_is_found() -> None:
    assert sleeps("import time\ntime.sleep(0.1)\nasyncio.sleep(0)\nawait asyncio.sleep(delay_s)\nsleep(1)") == [2, 4, 5]


@each("path", [path for path in TESTS if path.is_relative_to(ROOT / "tests")], ids=relative)
def test_no_test_waits_by_sleeping(path: Path) -> None:
    found = sleeps(path.read_text())
    may = relative(path) in MAY_SLEEP
    assert bool(found) is may, f"lines {found}: await the event, or look for it with support.eventually"


def test_modules_say_what_they_are() -> None:
    silent = [relative(p) for p in SOURCES if not ast.get_docstring(ast.parse(p.read_text()))]
    assert not silent


def test_no_module_is_a_drawer() -> None:
    drawers = [relative(p) for p in SOURCES if p.stem in {"utils", "util", "helpers", "common", "misc", "manager"}]
    assert not drawers


def test_a_class_name_stands_for_one_thing() -> None:
    """Across the rooms; a leading underscore does not make another name. Kafka's message classes are left out."""
    places: dict[str, list[str]] = {}
    for path in SOURCES:
        if not GENERATED.match(relative(path)):
            for node in ast.parse(path.read_text()).body:
                if isinstance(node, ast.ClassDef):
                    places.setdefault(node.name.lstrip("_"), []).append(f"{relative(path)}:{node.lineno}")
    shared = {name: found for name, found in places.items() if len(found) > 1}
    assert not shared, f"rename one of each: {shared}"


@pytest.mark.parametrize("room", ["broker", "storage"])
def test_no_variable_keeps_an_error_with_its_traceback(room: str) -> None:
    """Error, traceback, frame and variable would be a cycle; see broker/server/memory.py."""
    kept = []
    for path in sorted((ROOT / room).rglob("*.py")):
        for handler in ast.walk(ast.parse(path.read_text())):
            if isinstance(handler, ast.ExceptHandler) and handler.name is not None:
                assigned = [one for one in ast.walk(handler) if isinstance(one, ast.Assign)]
                kept += [f"{relative(path)}:{one.lineno}" for one in assigned if keeps(one, handler.name)]
    assert not kept, f"add .with_traceback(None) in {kept}"


def keeps(node: ast.Assign, name: str) -> bool:
    """Whether a statement puts the error ``name`` into a variable."""
    if not isinstance(node.targets[0], ast.Name):
        return False
    values = node.value.values if isinstance(node.value, ast.BoolOp) else [node.value]
    return any(isinstance(value, ast.Name) and value.id == name for value in values)


def test_every_room_is_linked_and_typed() -> None:
    for room in ROOMS:
        assert (ROOT / room).readlink() == Path("odradek") / room
        assert (ROOT / "odradek" / room / "py.typed").exists()
    files = {path.name for path in (ROOT / "odradek").glob("*.py")}
    assert files == {"__init__.py", "__main__.py"}, "modules live in the packages"


def test_imports_are_absolute_between_packages_and_relative_within_one() -> None:
    assert not [line for path in SOURCES for line in imports_of_another_form(relative(path), path.read_text())]


@pytest.mark.parametrize(
    ("line", "is_refused"),
    [
        ("from ..timers import work", False),
        ("from .. import api", False),
        ("from ... import __version__", True),
        ("from ...protocol import errors", True),
        ("from odradek.protocol import errors", False),
        ("from odradek.broker.timers import work", True),
    ],
)
def test_imports_of_another_form_are_found(line: str, is_refused: bool) -> None:
    assert len(imports_of_another_form("broker/groups/core.py", line + "\n")) == is_refused


def imports_of_another_form(path: str, source: str) -> list[str]:
    """``path:line`` of each relative import that leaves the package, and of each absolute import that does not."""
    parts = path.removesuffix(".py").split("/")
    found = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom):
            leaves = node.level >= len(parts)
            returns = not node.level and f"{node.module}.".startswith(f"odradek.{parts[0]}.")
            if leaves or (returns and parts[-1] != "__init__"):  # mypy meets those under packages of tests/, too
                found.append(f"{path}:{node.lineno}")
    return found


def test_no_place_of_a_developer_machine_is_named() -> None:
    tracked = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()
    place = re.compile(r"(?<![\w.])/work/\w|(?<![\w.])/root/\w|\.\./shared\b")
    named = []
    for name in tracked:
        path = ROOT / name
        if name == "tests/test_tidy.py" or not path.is_file() or path.is_symlink():
            continue
        try:
            lines = path.read_text().splitlines()
        except UnicodeDecodeError:
            continue
        named += [f"{name}:{i}" for i, line in enumerate(lines, 1) if len(line) < 5000 and place.search(line)]
    assert not named


CLIENT_TEXT = re.compile(
    r"(^|\.)(client_id|group_id|member_id|instance_id|group_instance_id|transactional_id|client_reason)$"
)
CONVERSION = re.compile(r"%[-+ #0]*\d*(?:\.\d+)?([a-zA-Z])")


def raw_client_texts(path: Path) -> list[str]:
    """Log calls that would write a client's text as it came: not by `%r`, nor quoted by `log_lines`."""
    found = []
    for call in (n for n in ast.walk(ast.parse(path.read_text())) if isinstance(n, ast.Call)):
        if not re.match(r"^(logger|logging)\.(debug|info|warning|error|exception|critical)$", purity.dotted(call.func)):
            continue
        where = f"{relative(path)}:{call.lineno}"
        template, *arguments = call.args
        if not isinstance(template, ast.Constant) or not isinstance(template.value, str):
            found.append(f"{where}: the template is not a constant")
            continue
        kinds = CONVERSION.findall(template.value.replace("%%", ""))
        if any(isinstance(argument, ast.Starred) for argument in arguments):
            continue
        assert len(kinds) == len(arguments), where
        found += [
            f"{where}: {purity.dotted(argument)} by %{kind}"
            for kind, argument in zip(kinds, arguments, strict=True)
            if kind != "r" and CLIENT_TEXT.search(purity.dotted(argument))
        ]
    return found


@pytest.mark.parametrize("room", ["broker", "storage", "protocol"])
def test_no_log_line_holds_a_client_s_text_as_it_came(room: str) -> None:
    assert not [one for path in sorted((ROOT / room).rglob("*.py")) for one in raw_client_texts(path)]


def test_nothing_tells_to_install_the_name_from_an_index() -> None:
    """It is on none: the command fails today, and fetches a stranger's package once one has taken the name."""
    by_name = re.compile(r"pip install [^\n]*?(?<![\w./-])odradek(?![\w-]*\.whl)")
    texts = [*SOURCES, *DOCUMENTS]
    assert not [relative(path) for path in texts if by_name.search(path.read_text())]


PLAIN_CODE = (
    "broker/**/*.py", "odradek/__main__.py",
    "client/**/*.py", "pipeline/**/*.py", "protocol/**/*.py", "storage/**/*.py", "testing/**/*.py",
)  # fmt: skip
"""Modules whose text is held to the refused phrases: patterns below the root. A pattern with `**` still finds a module
that moves.
"""


NOT_PLAIN = {"protocol/error_messages.py"}
"""Not held to it: Kafka's sentences."""

KAFKAS = (
    "There is no offset information to delete.",
    "since there is no current committed offset",
    "(CRC is no longer valid)",
    " is no longer registered.",
    "There is no active reassignment of partition ",
)
"""Kafka's words in messages that scripts may look for."""


def test_a_refused_phrase_is_found_across_lines_and_cases() -> None:
    assert refused_phrases("a\nIt is\n    # told so. Nobody\nknows, nobody_else does") == ["2: is # told", "3: Nobody"]
    assert refused_phrases("This is not told; a whomping noise, the greatest") == []


def without_kafkas(text: str) -> str:
    """The text without the sentences that are Kafka's."""
    for sentence in KAFKAS:
        text = text.replace(sentence, "")
    return text


PAGES = sorted(relative(path) for path in DOCUMENTS)


@pytest.mark.parametrize("page", PAGES)
def test_the_documentation_is_plain_english(page: str) -> None:
    assert not refused_phrases((ROOT / page).read_text())


TESTS = sorted(path for path in (ROOT / "tests").rglob("*.py") if path != Path(__file__))


def test_the_tests_are_plain_english() -> None:
    """Their comments and docstrings; ids in test data, such as a group that is called nobody, are not text."""
    assert not [f"{relative(path)}:{one}" for path in TESTS for one in refused_phrases(prose(path.read_text()))]


def test_docstrings_of_tests_state_facts() -> None:
    assert docstrings_without_a_fact('"""How it ends."""\ndef f() -> None:\n    """Whenever it ends."""') == [
        "1: How it ends."
    ]
    files = (path for path in TESTS if path.name.startswith("test_"))
    assert not [f"{relative(path)}:{one}" for path in files for one in docstrings_without_a_fact(path.read_text())]


@pytest.mark.parametrize("pattern", PLAIN_CODE)
def test_the_code_is_plain_english(pattern: str) -> None:
    files = sorted(ROOT.glob(pattern))
    assert files, "no module matches the pattern any more"
    files = [path for path in files if relative(path) not in NOT_PLAIN]
    found = [f"{relative(path)}:{one}" for path in files for one in refused_phrases(without_kafkas(path.read_text()))]
    assert not found
