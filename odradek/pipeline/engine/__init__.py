"""Engines that run the tasks of a job: in this process, in a pool of processes, or on Spark."""
