"""A ``docker`` program for tests without an engine: its containers are processes of ``odradek serve``.

The variable FAKE_DOCKER names a directory. Every call is one line of JSON in its file ``calls``. ``plan.json`` there
says what the calls answer: ``run`` lists [exit code, error] of the first calls of ``docker run``, ``inspect`` the state
of the container, and ``logs`` its output. A ``docker run`` after these starts a broker if ``serves`` is set.
"""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

HOME = Path(os.environ["FAKE_DOCKER"])
PLAN = json.loads((HOME / "plan.json").read_text())


def main(arguments: list[str]) -> int:
    """Answers one call; returns its exit code."""
    with (HOME / "calls").open("a") as calls:
        calls.write(json.dumps(arguments) + "\n")
    answers = {"run": run, "inspect": inspect, "logs": logs, "rm": remove}
    return answers[arguments[0]](arguments)


def run(arguments: list[str]) -> int:
    """Fails as planned, or starts a broker."""
    earlier = sum(json.loads(line)[0] == "run" for line in (HOME / "calls").read_text().splitlines()) - 1
    if earlier < len(PLAN["run"]):
        code, error = PLAN["run"][earlier]
        print(error, file=sys.stderr)
        return int(code)
    if PLAN["serves"]:
        port = arguments[arguments.index("--publish") + 1].rpartition(":")[2]
        command = [sys.executable, "-m", "odradek", "serve", "--override", f"listeners=PLAINTEXT://127.0.0.1:{port}"]
        with (HOME / "broker.log").open("wb") as log:
            broker = subprocess.Popen(
                [*command, "--override", f"log.dirs={HOME / 'data'}"],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        (HOME / "pid").write_text(str(broker.pid))
    return 0


def inspect(_arguments: list[str]) -> int:
    """Prints whether the container runs, and its exit code."""
    print(PLAN["inspect"])
    return 0


def logs(_arguments: list[str]) -> int:
    """Prints the output of the container, which is on both streams."""
    print(PLAN["logs"])
    print("an error of the container", file=sys.stderr)
    return 0


def remove(_arguments: list[str]) -> int:
    """Ends the broker if there is one."""
    pid = HOME / "pid"
    if not pid.exists():
        print("Error: No such container", file=sys.stderr)
        return 1
    os.kill(int(pid.read_text()), signal.SIGKILL)
    pid.unlink()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
