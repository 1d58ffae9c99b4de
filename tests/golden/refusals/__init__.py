"""What is refused, and what to write instead."""
