"""Tests with large numbers, and their helpers."""
