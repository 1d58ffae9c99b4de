"""The web pages: the analysts' console and the administration page."""
