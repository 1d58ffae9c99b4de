"""A policy file to running services, and both protocols on one event loop."""
