"""What is delivered: the wheel, the documentation, and the scripts that write figures into both."""
