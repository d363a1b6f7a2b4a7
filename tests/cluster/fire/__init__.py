"""Helpers of the fire tests of a cluster. ``support/fire/`` has those that the fire tests of one broker use, too."""
