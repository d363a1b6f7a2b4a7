"""The workflows and `.ci/run`: every test has a part, every part a job, and the steps before them stand once."""

import re
import subprocess

from tools.places import ROOT

CI = (ROOT / ".github/workflows/ci.yaml").read_text()
NIGHTLY = (ROOT / ".github/workflows/nightly.yaml").read_text()
SETUP = (ROOT / ".github/actions/setup/action.yaml").read_text()
RUN = (ROOT / ".ci/run").read_text()
WITHOUT_TESTS = {"java", "support"}


def parts() -> dict[str, list[str]]:
    """Part -> the folders and files of its slower tests."""
    return {name: places.split() for name, places in re.findall(r'^(\w+)="(tests/[^"]*)"$', RUN, re.MULTILINE)}


def test_every_folder_of_tests_is_in_one_part() -> None:
    named = [place for places in parts().values() for place in places]
    folders = {f"tests/{path.name}" for path in (ROOT / "tests").iterdir() if path.is_dir() and any(path.rglob("*.py"))}
    assert sorted(named) == sorted({*folders, "tests/test_*.py"} - {f"tests/{name}" for name in WITHOUT_TESTS})


def test_every_part_is_a_job_and_a_case() -> None:
    (matrix,) = re.findall(r"part: \[(.*)\]", CI)
    assert matrix.split(", ") == list(parts())
    assert "- run: .ci/run ${{ matrix.part }}\n" in CI
    assert all(f'    {name}) tests="${name}" ;;' in RUN for name in parts())


def test_an_unknown_part_is_refused() -> None:
    ended = subprocess.run([ROOT / ".ci/run", "units"], capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stderr) == (2, ".ci/run: no part is called units\n")


def test_the_steps_before_the_tests_stand_once() -> None:
    assert all("uses: ./.github/actions/setup" in workflow for workflow in (CI, NIGHTLY))
    assert not [action for action in ("setup-java", "setup-go", "actions/cache") if action in CI + NIGHTLY]
    assert all(action in SETUP for action in ("setup-python", "setup-java", "setup-go", "actions/cache"))


def test_the_record_of_second_tries_is_kept_from_run_to_run() -> None:
    (path,) = re.findall(r"TESTS_SECOND_TRIES:-\$PWD/(\S+)}", RUN)
    assert f"path: {path}\n" in SETUP


def test_ci_prints_its_slowest_tests() -> None:
    assert re.findall(r"^pytest=.*--durations=25", RUN, re.MULTILINE)
    assert "--durations=25" in NIGHTLY
