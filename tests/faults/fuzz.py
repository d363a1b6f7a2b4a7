"""Runs the coverage-guided fuzzer atheris (libFuzzer) over a target of ``fuzz_targets.py``, from tests/:

    PYTHONPATH=..:. python -m faults.fuzz TARGET DIRECTORY -max_total_time=300

``DIRECTORY`` keeps the inputs that reached new code. An input that fails is written to the current directory. All other
options are libFuzzer's. atheris is not among the packages of the tests: install it beside PyJWT and cryptography.
"""

import sys
from pathlib import Path

import atheris  # type: ignore[import-untyped]

with atheris.instrument_imports(include=["odradek"]):
    from faults.fuzz_targets import SEEDS, TARGETS


def main() -> None:
    """Never returns: libFuzzer ends the process."""
    name, directory, *options = sys.argv[1:]
    corpus = Path(directory)
    corpus.mkdir(parents=True, exist_ok=True)
    for number, seed in enumerate(SEEDS[name]):
        (corpus / f"seed-{number}").write_bytes(seed)
    atheris.Setup([sys.argv[0], *options, directory], TARGETS[name])
    atheris.Fuzz()


if __name__ == "__main__":
    main()
