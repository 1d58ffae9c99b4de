"""Connections of both ports: counted when accepted, evicted when all places are taken, written to as they read."""
