"""Keeps the garbage collector of a Spark worker from what lives as long as the worker.

PySpark runs the garbage collector after every task. The objects that numba, Arrow and numpy create at import stay as
long as the worker, and a collection over them takes 70 to 80 ms, as long as reading 100 MB. Source: pyspark.worker.
"""

import gc
from functools import cache


@cache
def freeze_once() -> None:
    """Freezes the objects of this process at the first call, so that later collections skip them.

    It does not ask Python whether objects are frozen, because that visits all of them, each time.
    """
    gc.collect()
    gc.freeze()
