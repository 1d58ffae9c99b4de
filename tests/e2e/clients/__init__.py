"""Real clients of PostgreSQL, each through the same contract; `make clients` installs them."""
