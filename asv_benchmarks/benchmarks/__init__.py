"""Benchmarks by kernel, by whole proof and by start-up, with the device as a parameter; see docs/benchmarks.md."""
