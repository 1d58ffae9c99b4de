"""Who may connect, and how often."""
