"""Checks of `make check` that no published package provides."""
