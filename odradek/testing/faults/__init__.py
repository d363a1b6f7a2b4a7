"""Faults that a test injects into its broker: errors, delays, held answers, broken connections."""
