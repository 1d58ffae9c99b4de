"""Unit tests of server/pgwire/state/, one file per module or group of modules."""
