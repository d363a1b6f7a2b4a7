"""Faults that a test asks of its broker: errors, delays, held answers, broken connections."""
