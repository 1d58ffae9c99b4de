"""Unit tests of server/pgwire/auth/, one file per module or group of modules."""
