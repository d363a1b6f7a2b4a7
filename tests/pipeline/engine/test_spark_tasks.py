"""run_tasks on both engines: order, progress, errors that name the task; a worker ends with its parent."""

import os
import re
import signal
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from odradek.pipeline.engine.engines import LOCAL, SMALL_BYTES, SPARK, available_cores, finished_tasks, run_tasks
from odradek.pipeline.engine.job import EngineError, EngineMissingError, Job, TaskError
from support.eventually import eventually

from ..engine_tasks import (
    PYTHON_PATH,
    die_at_three,
    die_once_at_three,
    double,
    end_at_once,
    fail_at_three,
    meet,
    name_of,
    note_process,
    process_id,
    tell_and_die_once_at_three,
    wait_for,
)

needs_two_cores = pytest.mark.skipif(available_cores() < 2, reason="one core: no pool is used")


def test_results_come_in_the_order_of_the_tasks_with_progress() -> None:
    progress: list[tuple[int, int]] = []
    assert list(run_tasks(LOCAL, Job(range(20), double, "doubling", progress=lambda *done: progress.append(done)))) == [
        2 * number for number in range(20)
    ]
    assert progress == [(done, 20) for done in range(1, 21)]
    assert list(run_tasks(LOCAL, Job([], double, "nothing"))) == []


def test_one_task_and_small_ones_need_no_pool() -> None:
    assert list(run_tasks(LOCAL, Job([0], process_id, "here"))) == [os.getpid()]
    assert list(run_tasks(LOCAL, Job([0, 0], process_id, "here", sizes=[5, 6]))) == [os.getpid()] * 2
    assert list(run_tasks(LOCAL, Job([0, 0], process_id, "here", max_workers=1))) == [os.getpid()] * 2


@needs_two_cores
def test_tasks_run_at_once_in_other_processes(tmp_path: Path) -> None:
    tasks = [(tmp_path, number, 2) for number in range(2)]
    assert list(run_tasks(LOCAL, Job(tasks, meet, "meeting", sizes=[SMALL_BYTES, 1]))) == [0, 1]
    assert os.getpid() not in list(run_tasks(LOCAL, Job(range(4), process_id, "elsewhere")))


@needs_two_cores
def test_what_finishes_first_is_handed_out_first(tmp_path: Path) -> None:
    """The first task ends only when the test has the second one's result."""
    released = tmp_path / "released"
    tasks = [(tmp_path / "first", released), (tmp_path / "second", None)]
    results = finished_tasks(LOCAL, Job(tasks, wait_for, "waiting"))
    assert next(results) == (1, "second")
    released.touch()
    assert list(results) == [(0, "first")]


def test_an_error_names_the_task() -> None:
    for tasks in ([3], range(6)):
        with pytest.raises(TaskError, match=r"/data/t-3: ValueError: 3 is not wanted"):
            list(run_tasks(LOCAL, Job(tasks, fail_at_three, "failing", place="/data/t-{}".format)))
    with pytest.raises(TaskError, match="task 4 of 6: ValueError"):
        list(run_tasks(LOCAL, Job(range(6), fail_at_three, "failing")))


@needs_two_cores
def test_a_task_whose_worker_is_killed_is_tried_again(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    tasks = [(tmp_path, number) for number in range(8)]
    job = Job(tasks, die_once_at_three, "odradek audit", place="/data/t-{0[1]}".format)
    assert list(run_tasks(LOCAL, job)) == list(range(8))
    said = capfd.readouterr().err
    assert re.fullmatch(
        r"odradek audit: worker \d+ was killed by SIGKILL, perhaps because the system ran out of memory \(see dmesg\) "
        r"at /data/t-3, which is tried again\n",
        said,
    )


@needs_two_cores
def test_a_task_that_kills_two_workers_fails_after_all_others_are_done() -> None:
    done: list[tuple[int, int]] = []
    job = Job(range(8), die_at_three, "odradek audit", place="t-{}".format)
    with pytest.raises(TaskError, match="odradek audit: t-3: the second worker process ended with exit code 9, too"):
        done.extend(finished_tasks(LOCAL, job))
    assert sorted(done) == [(number, number) for number in range(8) if number != 3]


@needs_two_cores
def test_workers_that_never_begin_end_the_job() -> None:
    with pytest.raises(TaskError, match="worker processes can't start: the last ended with exit code 7"):
        list(run_tasks(LOCAL, Job(range(100), process_id, "odradek audit", begin=end_at_once)))


@needs_two_cores
def test_workers_tell_what_they_read_and_take_back_what_a_dead_one_has_told(tmp_path: Path) -> None:
    told: list[tuple[str, int]] = []
    tasks = [(tmp_path, number) for number in range(8)]
    job = Job(tasks, tell_and_die_once_at_three, "telling", tell=lambda *news: told.append(news))
    assert list(run_tasks(LOCAL, job)) == list(range(8))
    assert sum(count for _, count in told) == 8 * 100
    assert {name for name, count in told if count > 0} == {f"t-{number}" for number in range(8)}


@needs_two_cores
def test_each_worker_begins_with_the_function_for_that(tmp_path: Path) -> None:
    job = Job(range(8), process_id, "beginning", begin=partial(note_process, tmp_path))
    assert set(run_tasks(LOCAL, job)) <= {int(path.name) for path in tmp_path.iterdir()}


@needs_two_cores
def test_workers_end_with_the_process_that_started_them(tmp_path: Path) -> None:
    """A killed compaction must not continue in its workers."""
    script = tmp_path / "job.py"
    script.write_text(
        "import os, sys\nfrom pathlib import Path\n"
        "from odradek.pipeline.engine.engines import Job, finished_tasks\n"
        "from tests.pipeline.engine_tasks import process_id, wait_for\n"
        "if __name__ == '__main__':\n"
        "    here = Path(sys.argv[1])\n"
        "    list(finished_tasks('local', Job([(here / 'one', here / 'never'), (here / 'two', here / 'never')],"
        " wait_for, 'job')))\n"
    )
    environment = os.environ | {"PYTHONPATH": PYTHON_PATH}
    process = subprocess.Popen([sys.executable, str(script), str(tmp_path)], env=environment)
    eventually("both tasks run", lambda: (tmp_path / "one").exists() and (tmp_path / "two").exists())
    workers = children_of_children(process.pid)
    assert len(workers) == 2
    process.send_signal(signal.SIGKILL)
    process.wait()
    eventually("the workers end", lambda: not any(is_running(worker) for worker in workers))


def children_of_children(pid: int) -> list[int]:
    """The workers of a job: children of the fork server, which is a child of the job."""
    parents = {
        int(entry.name): int((entry / "stat").read_text().rsplit(")", 1)[1].split()[1])
        for entry in Path("/proc").iterdir()
        if entry.name.isdigit() and (entry / "stat").exists()
    }
    return [child for child, parent in parents.items() if parents.get(parent) == pid]


def is_running(pid: int) -> bool:
    path = Path(f"/proc/{pid}/stat")
    return path.exists() and path.read_text().rsplit(")", 1)[1].split()[0] != "Z"


@pytest.mark.ci
def test_spark_gives_the_same_results_in_the_same_order(spark: SparkSession) -> None:
    progress: list[tuple[int, int]] = []
    results = run_tasks(SPARK, Job(range(20), double, "doubling", progress=lambda *done: progress.append(done)))
    assert list(results) == [2 * number for number in range(20)]
    assert progress == [(done, 20) for done in range(1, 21)]


@pytest.mark.ci
def test_spark_hands_out_what_finishes_first(spark: SparkSession, tmp_path: Path) -> None:
    released = tmp_path / "released"
    tasks = [(tmp_path / "first", released), (tmp_path / "second", None)]
    results = finished_tasks(SPARK, Job(tasks, wait_for, "waiting"))
    assert next(results) == (1, "second")
    released.touch()
    assert list(results) == [(0, "first")]


@pytest.mark.ci
def test_spark_names_the_task_that_failed_and_what_an_executor_cannot_see(spark: SparkSession, tmp_path: Path) -> None:
    with pytest.raises(TaskError, match=r"^t-3: ValueError: 3 is not wanted$"):
        list(run_tasks(SPARK, Job(range(6), fail_at_three, "failing", place="t-{}".format)))
    missing = tmp_path / "t-0"
    with pytest.raises(TaskError, match=rf"^{missing} does not exist on the executor .*: .* as the driver"):
        list(run_tasks(SPARK, Job([missing], name_of, "far away", place=str)))
    assert list(run_tasks(SPARK, Job([tmp_path], name_of, "near", place=str))) == [tmp_path.name]


def test_spark_without_pyspark_or_java_says_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyspark.errors", None)
    with pytest.raises(EngineMissingError, match="needs Java 17 and pyspark: install odradek with the extra 'spark'"):
        list(run_tasks(SPARK, Job([1], double, "doubling")))
    assert issubclass(EngineMissingError, EngineError)


@pytest.mark.ci
def test_spark_without_java_says_so(tmp_path: Path) -> None:
    """In its own process, because this one may already have a JVM."""
    code = (
        "from odradek.pipeline.engine.engines import *\n"
        "from odradek.pipeline.engine.job import EngineMissingError, Job\n"
        "from tests.pipeline.engine_tasks import double\n"
        "try:\n    list(run_tasks('spark', Job([1], double, 'doubling')))\n"
        "except EngineMissingError as error:\n    print('said:', error)\n"
    )
    environment = {key: value for key, value in os.environ.items() if key != "JAVA_HOME"}
    environment |= {"PATH": "/usr/bin:/bin", "JAVA_HOME": str(tmp_path), "PYTHONPATH": PYTHON_PATH}
    result = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, timeout=300, check=False
    )
    assert "said: --engine spark needs Java 17 or newer" in result.stdout, result.stderr[-2000:]
