"""Drivers: what a program in some language connects with."""
