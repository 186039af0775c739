"""Between canonical Python integers and Montgomery words, by exact integers; and the crates' numbers."""

import gzip
import json
from functools import lru_cache
from importlib import import_module
from pathlib import Path

import numpy as np

VECTORS = Path(__file__).parents[1] / "vectors"
P = 15 * 2**27 + 1
EDGES = [0, 1, 2, 3, 11, 2**16, 2**27, 2**27 + 1, 2**30, (P - 1) // 2, (P + 1) // 2, P - 11, P - 2, P - 1]


def op(name: str, file: str | None = None):
    """The NumPy twin `name`."""
    return getattr(import_module(f"whir_mlx.kernels.reference.{file or name}"), name)


@lru_cache(maxsize=1)
def vectors() -> dict:
    """`primitives.json`, compressed or not."""
    plain = VECTORS / "primitives.json"
    if plain.exists():
        return json.loads(plain.read_text())
    with gzip.open(VECTORS / "primitives.json.gz", "rt") as file:
        return json.load(file)


def words(values) -> np.ndarray:
    """Montgomery words of canonical ints, nested as they are."""
    return (np.array(values, dtype=object) * 2**32 % P).astype(np.uint32)


def ints(array: np.ndarray) -> list:
    """The canonical ints meant by Montgomery words, as (nested) lists; the array must be as the contract says."""
    assert array.dtype == np.uint32 and array.flags.c_contiguous and (array.size == 0 or array.max() < P)
    return (array.astype(object) * pow(2, -32, P) % P).tolist()


def exts(seed: int, count: int) -> list:
    """Random extension elements as tuples, about 3 coefficients in 10 an edge value."""
    rng = np.random.default_rng(seed)
    draw = rng.integers(0, P, (count, 4))
    edge = rng.choice(EDGES, (count, 4))
    return [tuple(row) for row in np.where(rng.random((count, 4)) < 0.3, edge, draw).tolist()]


def lists(values) -> list:
    """Tuples as lists, to compare with `ints`."""
    return [list(value) for value in values]
