"""WHIR proving as a Python array library on MLX."""
