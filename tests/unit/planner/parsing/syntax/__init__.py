"""Unit tests of planner/parsing/syntax/, one file per module or group of modules."""
