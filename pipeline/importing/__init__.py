"""Rows into log segments that a broker serves: `odradek import`."""
