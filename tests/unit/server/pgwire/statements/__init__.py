"""Unit tests of server/pgwire/statements/, one file per module or group of modules."""
