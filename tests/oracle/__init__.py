"""WHIR over BabyBear in plain Python integers, slow and simple: what the package is checked against.

It shares nothing with the package and imports nothing but the standard library. Base field elements are canonical ints
(0 <= x < p), extension elements are tuples (c0, c1, c2, c3), digests are tuples of 8 ints. `protocol.py` is the entry.
"""
