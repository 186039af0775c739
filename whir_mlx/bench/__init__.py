"""Measurements: proofs, the Rust crate beside them, stages of one proof, kernels against the machine's limits.

Every number is a median of warm runs with the data on the device; `docs/benchmarks.md` says how each is taken.
"""
