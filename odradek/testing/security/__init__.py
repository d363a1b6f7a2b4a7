"""Certificates, users and ACLs for tests."""
