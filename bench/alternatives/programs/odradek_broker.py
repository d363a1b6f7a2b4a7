"""Odradek in this process, as the fixture `kafka` uses it: each line on stdin asks for a clean broker."""

import sys

from odradek.testing import InProcessBroker

with InProcessBroker() as broker:
    print(broker.bootstrap_servers, flush=True)
    for _ in sys.stdin:
        broker.reset(new_port=True)
        print(broker.bootstrap_servers, flush=True)
