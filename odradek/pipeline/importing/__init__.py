"""Writes rows from files into log segments that a broker can serve: `odradek import`."""
