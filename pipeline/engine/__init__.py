"""Engines that run the tasks of a job: in this process, in several, on Spark."""
