"""A message of the transcript whose parts another launch adds up."""

from __future__ import annotations

import math

__all__ = ["PendingSum"]


class PendingSum:
    """A message that the transcript adds up as it absorbs it.

    shares: (P, ...), W words each; words: (8,) or more, of which the first W are the sum, once it is absorbed,
    else None.
    """

    def __init__(self, shares):
        self.shares = shares
        self.words = None

    @property
    def fills_block(self) -> bool:
        """Whether it is what one permutation absorbs."""
        return math.prod(self.shares.shape[1:]) == 8

    @property
    def value(self):
        """The sum alone, (W,): a view."""
        return self.words[: math.prod(self.shares.shape[1:])]
