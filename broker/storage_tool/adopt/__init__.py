"""Rescue: the disks of a dead broker without its cluster metadata, served again (``odradek storage adopt``)."""
