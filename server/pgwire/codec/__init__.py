"""The protocol's messages and values as bytes and back, without I/O but for the channel."""
