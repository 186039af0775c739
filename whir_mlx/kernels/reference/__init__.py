"""The NumPy twin of every operation: the `numpy` device, and what the kernels' tests compare with.

Arguments are those of the wrapper of the same name, less `device`. Shapes and host integers are checked; that words are
below p is the business of the callers at the edge.
"""
