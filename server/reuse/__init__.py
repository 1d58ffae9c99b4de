"""Answers from answers: what follows from releases that an analyst has paid for is computed from them, for free."""
