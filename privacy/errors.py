"""What can go wrong in the mathematics. No message of these ever reaches a client."""


class PrivacyError(Exception):
    """Base of every error raised by this package."""


class SolverFailed(PrivacyError):
    """No solver reached the certified gap that the noise was scaled for."""


class InvalidParameter(PrivacyError):
    """A parameter outside its domain (epsilon <= 0, a weight < 0, a value that is not finite)."""


class EntropyFailed(PrivacyError):
    """The source of noise returned something that is not noise."""


class TooLarge(PrivacyError):
    """A solve needs more memory than its limit; nothing was started."""
