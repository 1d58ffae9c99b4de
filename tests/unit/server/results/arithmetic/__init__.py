"""Unit tests of server/results/arithmetic/, one file per module or group of modules."""
