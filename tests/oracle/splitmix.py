"""The data generator of the vectors: splitmix64 reduced mod p, both sides of every comparison use it."""

from .field import P

MASK = 2**64 - 1


def splitmix(seed: int, i: int) -> int:
    z = (seed * 0xD1342543DE82EF95 + (i + 1) * 0x9E3779B97F4A7C15) & MASK
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 & MASK
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB & MASK
    return (z ^ (z >> 31)) % P


def stream(seed: int, count: int) -> list:
    return [splitmix(seed, i) for i in range(count)]
