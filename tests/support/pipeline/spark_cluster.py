"""A Spark standalone cluster of pip's pyspark: a master and workers, each a process of its own, and spark-submit."""

import os
import subprocess
import sys
import urllib.request
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType

import pyspark

from support.brokers.free_ports import free_ports
from support.eventually import eventually

HOME = Path(pyspark.__file__).parent
START_TIMEOUT_S = 300.0
FAST_START = "-XX:+UseSerialGC -XX:TieredStopAtLevel=1"
"""For JVMs that live for a minute: the optimizing compiler and the parallel collector would cost more than they save.
"""
MASTER = "org.apache.spark.deploy.master.Master"
WORKER = "org.apache.spark.deploy.worker.Worker"


class SparkCluster:
    """``with SparkCluster(directory, workers=2) as cluster: cluster.submit(...)``; every worker has one core."""

    def __init__(
        self,
        directory: Path,
        *,
        workers: int = 2,
        python_path: Path | None = None,
        executor_memory: str = "512m",
    ) -> None:
        """``python_path`` comes before the installed packages in the driver and the executors."""
        self.directory = directory
        self.workers = workers
        self.executor_memory = executor_memory
        self.port, self.ui_port = free_ports(2)
        self._processes: list[subprocess.Popen[bytes]] = []
        self.environment = os.environ | {
            "SPARK_HOME": str(HOME),
            "SPARK_LOCAL_IP": "127.0.0.1",
            "SPARK_DAEMON_MEMORY": "256m",
            "PYSPARK_PYTHON": sys.executable,
            "SPARK_DAEMON_JAVA_OPTS": FAST_START,
            "SPARK_MASTER_OPTS": "-Dspark.master.rest.enabled=false",  # otherwise it would use port 6066
        }
        self.environment.pop("PYTHONPATH", None)
        if python_path is not None:
            self.environment["PYTHONPATH"] = str(python_path)

    @property
    def pids(self) -> list[int]:
        """The processes of the master and of the workers."""
        return [process.pid for process in self._processes]

    @property
    def worker_pids(self) -> list[int]:
        """The workers' processes; executors are their children."""
        return [process.pid for process in self._processes[1:]]

    @property
    def url(self) -> str:
        """The master's address."""
        return f"spark://127.0.0.1:{self.port}"

    def __enter__(self) -> "SparkCluster":
        self.directory.mkdir(parents=True, exist_ok=True)
        try:
            self._start()
        except BaseException:
            self._end()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._end()

    def _start(self) -> None:
        here = ("--host", "127.0.0.1")
        self._run("master", MASTER, *here, "--port", str(self.port), "--webui-port", str(self.ui_port))
        self._wait(0)
        for number in range(self.workers):
            work = self.directory / f"worker-{number}"
            size = ("--cores", "1", "--memory", "2g", "--webui-port", "0", "--work-dir", str(work))
            self._run(f"worker-{number}", WORKER, *here, *size, self.url)
        self._wait(self.workers)

    def _wait(self, workers: int) -> None:
        """Waits until the master answers and all workers have registered; fails if a process ends."""

        def are_there() -> bool:
            assert all(process.poll() is None for process in self._processes), self.logs()
            return self._alive_workers() >= workers

        eventually(self.logs, are_there, patience_s=START_TIMEOUT_S, every_s=0.1)

    def _run(self, name: str, *arguments: str) -> None:
        with (self.directory / f"{name}.log").open("wb") as out:
            command = [str(HOME / "bin" / "spark-class"), *arguments]
            self._processes.append(
                subprocess.Popen(
                    command, cwd=self.directory, env=self.environment, stdout=out, stderr=subprocess.STDOUT
                )
            )

    def _alive_workers(self) -> int:
        """The number of workers on the master's JSON page; -1 before it answers."""
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.ui_port}/json/", timeout=10) as page:
                text = page.read().decode()
        except OSError:
            return -1
        return int(text.count('"state" : "ALIVE"'))

    def _end(self) -> None:
        for process in reversed(self._processes):
            process.terminate()
        for process in self._processes:
            try:
                process.wait(60)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()

    @property
    def applications(self) -> set[str]:
        """The ids of the applications that had executors."""
        return {path.name for path in self.directory.glob("worker-*/app-*")}

    def logs(self) -> str:
        """The last lines of all logs."""
        return "\n".join(f"{path.name}:\n{path.read_text()[-2000:]}" for path in sorted(self.directory.glob("*.log")))

    def what_was_said(self, result: subprocess.CompletedProcess[str]) -> str:
        """The end of a driver's output, and of the stderr of executors and their Python workers."""
        executors = [path.read_text()[-3000:] for path in sorted(self.directory.glob("worker-*/*/*/stderr"))]
        return "\n".join([result.stdout[-2000:], result.stderr[-4000:], *executors, self.logs()])

    def submit(
        self, program: Path, *arguments: str | Path, cores: int | None = None, configs: Mapping[str, str] | None = None
    ) -> subprocess.CompletedProcess[str]:
        """Runs a program as a driver on the cluster; returns its exit code and output."""
        settings = {
            "spark.ui.enabled": "false",
            "spark.ui.showConsoleProgress": "false",
            "spark.sql.shuffle.partitions": "2",
            "spark.driver.host": "127.0.0.1",
            "spark.driver.memory": "512m",
            "spark.driver.extraJavaOptions": FAST_START,
            "spark.executor.extraJavaOptions": FAST_START,
            "spark.executor.memory": self.executor_memory,
            "spark.executor.cores": "1",
            "spark.cores.max": str(cores or self.workers),
            **(configs or {}),
        }
        options = [part for key, value in settings.items() for part in ("--conf", f"{key}={value}")]
        return subprocess.run(
            [str(HOME / "bin" / "spark-submit"), "--master", self.url, *options, str(program), *map(str, arguments)],
            cwd=self.directory,
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=3600,
            check=False,
        )
