"""Serve cached answers about closed periods again when the data is new, and measure only what is open."""
