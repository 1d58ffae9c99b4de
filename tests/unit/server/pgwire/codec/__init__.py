"""Unit tests of server/pgwire/codec/, one file per module or group of modules."""
