"""Tests with crashes, exhausted resources and hostile clients, and their helpers."""
