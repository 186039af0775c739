"""Telling who waits how far a build of several kernels is."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import contextmanager

__all__ = ["report_builds", "watch_builds"]

_WATCHERS: list[Callable[[int, int], None]] = []


@contextmanager
def watch_builds(watcher: Callable[[int, int], None]):
    """While this is open, `watcher(done, total)` hears of builds: (0, total) first, then once for each kernel built.

    It is called in the thread that asked for the kernels.
    """
    _WATCHERS.append(watcher)
    try:
        yield
    finally:
        _WATCHERS.remove(watcher)


def report_builds(done: int, total: int) -> None:
    """Tell every watcher that `done` of `total` kernels are built."""
    for watcher in tuple(_WATCHERS):
        watcher(done, total)
