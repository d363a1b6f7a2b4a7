"""The workflows and `.ci/run`: every test has a part, every part a job; what a release may do."""

import re
import subprocess
from typing import Any

import yaml

from tools.places import ROOT

CI = (ROOT / ".github/workflows/ci.yaml").read_text()
NIGHTLY = (ROOT / ".github/workflows/nightly.yaml").read_text()
RELEASE = (ROOT / ".github/workflows/release.yaml").read_text()
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


def jobs_of_a_release() -> dict[str, dict[str, Any]]:
    jobs: dict[str, dict[str, Any]] = yaml.safe_load(RELEASE)["jobs"]
    return jobs


def test_only_a_tag_publishes() -> None:
    # YAML 1.1 reads the key `on` as true.
    assert yaml.safe_load(RELEASE)[True] == {"push": {"tags": ["v*"]}}
    assert [name for name, job in jobs_of_a_release().items() if "needs" not in job] == ["packages"]


def test_a_job_may_do_only_what_it_publishes() -> None:
    assert yaml.safe_load(RELEASE)["permissions"] == {"contents": "read"}
    assert {name: job.get("permissions") for name, job in jobs_of_a_release().items()} == {
        "packages": None,
        "pypi": {"id-token": "write"},
        "image": {"contents": "read", "packages": "write"},
        "release": {"contents": "write"},
        "site": {"contents": "read", "pages": "write", "id-token": "write"},
    }
    assert "password" not in str(jobs_of_a_release()["pypi"]), "trusted publishing needs none"


def test_a_release_runs_targets_and_modules_that_exist() -> None:
    targets = set(re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    assert set(re.findall(r"run: make ([\w-]+)", RELEASE)) == {"release-check", "site"}
    assert targets >= {"release-check", "site"}
    modules = re.findall(r"python -m (tools\.\S+)", RELEASE)
    assert modules == ["tools.release.notes"]
    assert all((ROOT / "tests" / f"{name.replace('.', '/')}.py").is_file() for name in modules)
    images = jobs_of_a_release()["image"]["strategy"]["matrix"]["include"]
    assert [image["file"] for image in images] == ["docker/Dockerfile", "docker/jobs/Dockerfile"]
    assert all((ROOT / image["file"]).is_file() for image in images)


def test_an_image_is_published_with_labels_and_a_list_of_its_contents() -> None:
    (step,) = [step for step in jobs_of_a_release()["image"]["steps"] if "build-push-action" in step.get("uses", "")]
    labels = re.findall(r"org\.opencontainers\.image\.(\w+)=", step["with"]["labels"])
    assert labels == ["version", "revision", "source"]
    assert step["with"]["sbom"] is True
