"""What goes wrong with derivatives."""

from perp.problems import PerpError


class DerivativeError(PerpError):
    """A derivative does not agree with differences: see `verify`."""
