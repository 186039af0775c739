"""Constants of BabyBear, p = 15 * 2^27 + 1, and of its quartic extension F[X] / (X^4 - 11).

Source: p3-baby-bear 0.8.0 (`baby_bear.rs`), spec of the two-adic generators included.
"""

P = 15 * 2**27 + 1
"""The BabyBear prime, 2013265921."""

TWO_ADICITY = 27
"""p - 1 is 15 * 2^27."""

EXT_W = 11
"""X^4 = 11 in the extension; 11 is not a square in F, so X^4 - 11 is irreducible."""

EXT_DEGREE = 4

MONTY_BITS = 32
MONTY_ONE = 2**MONTY_BITS % P
"""The Montgomery word of 1: 268435454."""

MONTY_MU = pow(P, -1, 2**MONTY_BITS)
"""p^-1 mod 2^32: 0x88000001."""

MONTY_R2 = MONTY_ONE * MONTY_ONE % P
"""The Montgomery word of 2^32, the factor that takes canonical words to Montgomery form."""

TWO_ADIC_GENERATOR = 440564289
"""g(27), a generator of the subgroup of order 2^27 (the crate's choice)."""


def two_adic_generator(bits: int) -> int:
    """Canonical generator g(bits) of the subgroup of order 2^bits, 0 <= bits <= 27."""
    if not 0 <= bits <= TWO_ADICITY:
        raise ValueError(f"bits must be in 0..{TWO_ADICITY}, got {bits}")
    return pow(TWO_ADIC_GENERATOR, 2 ** (TWO_ADICITY - bits), P)
