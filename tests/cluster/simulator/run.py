"""python -m cluster.simulator.run SEED STEPS [--bug NAME]: one life of a simulated cluster, in a process of its own."""

import argparse
import json
import os
import sys

from cluster.simulator import determinism


def main() -> int:
    """Prints the result as JSON."""
    parser = argparse.ArgumentParser()
    parser.add_argument("seed", type=int)
    parser.add_argument("steps", type=int)
    parser.add_argument("--bug", default="")
    parser.add_argument("--log", action="store_true")
    arguments = parser.parse_args()
    determinism.install(arguments.seed)
    from cluster.simulator.life import live  # after that: Odradek sees only the simulated clocks

    result = live(arguments.seed, arguments.steps, arguments.bug, logs=arguments.log)
    print(json.dumps(result._asdict()))
    sys.stdout.flush()
    os._exit(0 if not result.violation else 1)


if __name__ == "__main__":
    main()
