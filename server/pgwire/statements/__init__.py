"""Text to commands: questions, and what drivers send around them."""
