"""One life of a simulated cluster, in its own process.

python -m cluster.simulator.run SEED STEPS [--bug NAME] [--faults KIND,...] [--log]
"""

import argparse
import json
import os
import sys

from cluster.simulator import determinism


def main() -> int:
    """Runs a life, and prints the result as JSON."""
    parser = argparse.ArgumentParser()
    parser.add_argument("seed", type=int)
    parser.add_argument("steps", type=int)
    parser.add_argument("--bug", default="")
    parser.add_argument("--faults", default="", help="only these kinds of faults.KINDS")
    parser.add_argument("--log", action="store_true")
    arguments = parser.parse_args()
    determinism.install(arguments.seed)
    from cluster.simulator.faults import KINDS  # imported afterwards, so that Odradek only uses the simulated clocks
    from cluster.simulator.life import live

    kinds = arguments.faults.split(",") if arguments.faults else KINDS
    result = live(arguments.seed, arguments.steps, arguments.bug, kinds, logs=arguments.log)
    print(json.dumps(result._asdict()))
    sys.stdout.flush()
    os._exit(0 if not result.violation else 1)


if __name__ == "__main__":
    main()
