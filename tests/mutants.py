"""Changed proofs: a generic walk over proof objects, list mutations of every array and tuple, changed numbers."""

import dataclasses

import numpy as np


def leaves(value, path=()):
    """(path, value) of every array, number, text, tuple and None below a proof object, the objects included."""
    yield path, value
    if dataclasses.is_dataclass(value):
        for f in dataclasses.fields(value):
            yield from leaves(getattr(value, f.name), (*path, f.name))
    elif isinstance(value, tuple):
        for i, item in enumerate(value):
            yield from leaves(item, (*path, i))


def replaced(value, path, new):
    """`value` with `new` at `path`."""
    if not path:
        return new
    step, rest = path[0], path[1:]
    if isinstance(step, int):
        return (*value[:step], replaced(value[step], rest, new), *value[step + 1 :])
    return dataclasses.replace(value, **{step: replaced(getattr(value, step), rest, new)})


def restructured(value):
    """(what, new value): the list mutations of an array (on every axis) or tuple, and None for anything."""
    if value is not None:
        yield "null", None
    if isinstance(value, tuple):
        yield from _changed_lists(list(value), lambda items: tuple(items))
    if isinstance(value, np.ndarray):
        for axis in range(value.ndim):
            items = [np.take(value, i, axis=axis) for i in range(value.shape[axis])]
            shape = value.shape[:axis] + value.shape[axis + 1 :]

            def join(items, axis=axis, shape=shape):
                if items:
                    return np.ascontiguousarray(np.stack(items, axis=axis))
                return np.zeros((*shape[:axis], 0, *shape[axis:]), np.uint32)

            for what, new in _changed_lists(items, join, np.zeros(shape, np.uint32)):
                yield f"{what} on axis {axis}", new


def _changed_lists(items: list, join, filler=None):
    count = len(items)
    if filler is not None:
        yield "extend by zeros", join([*items, filler])
    if count == 0:
        return
    yield "empty", join([])
    for i in sorted({0, count // 2, count - 1}):
        yield f"drop {i}", join(items[:i] + items[i + 1 :])
        yield f"duplicate {i}", join(items[: i + 1] + items[i:])
        j = (i + 1) % count
        swapped = list(items)
        swapped[i], swapped[j] = items[j], items[i]
        yield f"swap {i} and {j}", join(swapped)
    if count > 2:
        yield "truncate", join(items[: count // 2])
        yield "reverse", join(items[::-1])
        yield "rotate", join(items[1:] + items[:1])
    yield "repeat", join(items + items)


def numbers(proof, rng, per_array: int):
    """(path, index or None, value) of numbers all over the proof: both ends and random places of every array."""
    for path, value in leaves(proof):
        if isinstance(value, np.ndarray) and value.size:
            flat = {0, value.size - 1} | {rng.randrange(value.size) for _ in range(per_array)}
            for index in sorted(flat):
                yield path, np.unravel_index(index, value.shape), int(value.flat[index])
        elif isinstance(value, int):
            yield path, None, value


def with_number(proof, path, index, array, new: int):
    if index is None:
        return replaced(proof, path, new)
    changed = array.copy()
    changed[index] = new
    return replaced(proof, path, changed)
