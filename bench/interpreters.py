"""The interpreters on this machine, and how fast they are: builds of one version differ by up to 1.3 times.

A build with profile-guided optimization is faster, but its configuration does not always say so: it is timed.
"""

import shutil
import subprocess
import sys

STEPS = 2_000_000
TIMED = f"""
import time
def timed():
    begun, total = time.process_time(), 0
    for step in range({STEPS}):
        total += step & 7
    return time.process_time() - begun
print(min(timed() for _ in range(5)))
"""


def step_ns(python: str) -> float:
    """The processor time of a step of a simple loop, in ns. Raises CalledProcessError."""
    timed = subprocess.run([python, "-c", TIMED], check=True, capture_output=True, text=True)
    return float(timed.stdout) / STEPS * 1e9


def describe(python: str = sys.executable) -> str:
    """The version of an interpreter, its path and its speed."""
    version = subprocess.run(
        [python, "-c", "import sys; print(sys.version.split()[0])"], check=True, capture_output=True
    )
    return f"Python {version.stdout.decode().strip()} ({python}), {step_ns(python):.1f} ns for a step of a loop"


def fastest() -> str:
    """The fastest interpreter of this minor version that can make an environment: this one, or the system's."""
    name = f"python3.{sys.version_info.minor}"
    found = {sys.executable, shutil.which(name) or sys.executable, f"/usr/bin/{name}"}
    usable = [python for python in sorted(found) if _makes_environments(python)]
    return min(usable, key=step_ns, default=sys.executable)


def _makes_environments(python: str) -> bool:
    if shutil.which(python) is None:
        return False
    return subprocess.run([python, "-c", "import ensurepip, venv"], check=False, capture_output=True).returncode == 0
