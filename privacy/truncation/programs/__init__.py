"""One linear program: made smaller, solved, and proved."""
