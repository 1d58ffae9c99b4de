"""Mechanisms that draw their samples themselves."""
