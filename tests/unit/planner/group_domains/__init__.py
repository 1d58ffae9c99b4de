"""Unit tests of planner/group_domains/, one file per module or group of modules."""
