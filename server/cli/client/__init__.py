"""Asking the HTTP API."""
