"""One route per file."""
