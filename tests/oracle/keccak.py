"""Keccak-256 with the original padding byte 0x01 (not SHA3-256), written from the permutation's definition."""

MASK = 2**64 - 1


def _rotate(x: int, n: int) -> int:
    n %= 64
    return (x << n | x >> (64 - n)) & MASK if n else x


def _round_constants() -> list:
    """Bit 2^j - 1 of constant i is rc(7i + j): an 8-bit LFSR with x^8 + x^6 + x^5 + x^4 + 1."""
    constants, register = [], 1
    for _ in range(24):
        constant = 0
        for j in range(7):
            constant |= (register & 1) << (2**j - 1)
            register = register << 1 ^ (0x171 if register & 0x80 else 0)
        constants.append(constant)
    return constants


ROUND_CONSTANTS = _round_constants()


def keccak_f(a: list) -> list:
    """a[x + 5 y], 25 words of 64 bits."""
    for constant in ROUND_CONSTANTS:
        c = [a[x] ^ a[x + 5] ^ a[x + 10] ^ a[x + 15] ^ a[x + 20] for x in range(5)]
        d = [c[(x - 1) % 5] ^ _rotate(c[(x + 1) % 5], 1) for x in range(5)]
        a = [word ^ d[i % 5] for i, word in enumerate(a)]
        b = [a[0]] + [0] * 24
        x, y = 1, 0
        for t in range(24):  # rho and pi along one orbit
            target = y + 5 * ((2 * x + 3 * y) % 5)
            b[target] = _rotate(a[x + 5 * y], (t + 1) * (t + 2) // 2)
            x, y = y, (2 * x + 3 * y) % 5
        a = [b[i] ^ (~b[i // 5 * 5 + (i + 1) % 5] & b[i // 5 * 5 + (i + 2) % 5]) & MASK for i in range(25)]
        a[0] ^= constant
    return a


def keccak256(message: bytes, padding: bytes = b"\x01") -> bytes:
    """With padding 0x06 it is SHA3-256, which the standard library has to compare with."""
    rate = 136
    padded = bytearray(message + padding + bytes(-(len(message) + 1) % rate))
    padded[-1] |= 0x80
    state = [0] * 25
    for start in range(0, len(padded), rate):
        for i in range(rate // 8):
            state[i] ^= int.from_bytes(padded[start + 8 * i : start + 8 * i + 8], "little")
        state = keccak_f(state)
    return b"".join(word.to_bytes(8, "little") for word in state[:4])
