"""Functions of the CPU target as programs: traced once a statement, then run launch after launch by one call.

A proof of 2^18 values is some 150 launches, and making them one by one in Python took 9 of its 40 ms (2 cores, Zen 3).
The trace says what is launched and where the words lie: in an argument, in an array that stays the same, in an array
of the result, or in one block of memory that all other arrays share, each for as long as it is needed.
"""

from __future__ import annotations

import numpy as np

from . import cpu
from .buffers import address
from .cpu_trace import WORD, Block, HostStep, Launch, Recorded, Recorder, recorder, tracing

__all__ = ["Program", "run_program"]

_ALIGNED = 16  # words: arrays begin at cache lines
_MOST_WORDS = 1 << 24
"""Words that a program's passing arrays take at most: where launches are long, arrays of their own are as quick and go
back earlier."""
_MOST_PROGRAMS = 32


class Program:
    """`function` of (nested lists of) arrays, traced for these `arguments`; `run` gives what it would.

    Its `words` are what a run takes besides the result. Runs of several threads do not meet.
    """

    def __init__(self, function, arguments: tuple):
        with tracing() as trace:
            numbers = iter(range(1 << 30))
            given = _mapped(lambda x: trace.new(x.shape, argument=next(numbers)), arguments)
            self._result = _mapped(_handed_out, function(*given))
        self._place(trace)
        self._segments = _segments(trace.nodes)
        self._pack(trace)

    @property
    def worth_it(self) -> bool:
        """Whether it is small enough."""
        return self.words <= _MOST_WORDS

    def run(self, arguments: tuple):
        """The result for arrays of the shapes that were traced."""
        given: list[np.ndarray] = []
        _mapped(lambda x: given.append(_flat(x)), arguments)
        shared, zeroed = cpu.BUFFERS.empty((self.words,)), np.zeros(self._zeroed_words, np.uint32)
        memory = [shared, zeroed, *given, *(cpu.BUFFERS.empty((block.words,)) for block in self._results)]
        bases = np.array([0, *map(address, memory)], np.uint64)
        records = self._records.copy()
        records[:, : 8 * cpu.MAX_BUFFERS].view(np.uint64)[...] = bases[self._slots] + self._offsets
        steps = self._steps.copy()
        steps[:, 2] = address(records) + np.arange(len(steps), dtype=np.uint64) * np.uint64(records.shape[1])
        first = address(steps)
        for part in self._segments:
            if isinstance(part, HostStep):
                part.function(*(self._in(x, memory) for x in part.inputs), out=self._in(part.out, memory))
            else:
                cpu.pool().pool_run_all(first + steps.strides[0] * part.start, len(part))
        return _mapped(lambda x: self._in(x, memory), self._result)

    def _in(self, x, memory: list[np.ndarray]) -> np.ndarray:
        if not isinstance(x, Recorded):
            return x.copy()  # a constant, which stays as it is
        slot, start = self._where[x.block]
        return x.of(memory[slot - 1][start:])

    def _place(self, trace: Recorder) -> None:
        """Gives every block its slot (0: an address, 1: the shared block, 2: zeros, then arguments, then results) and
        its first word there."""
        arguments = [block for block in trace.blocks if block.argument is not None]
        kept = [block for block in trace.blocks if block.argument is None]
        self._results = [block for block in kept if block.result and not block.zeroed]
        self._where = {block: (3 + block.argument, 0) for block in arguments}
        self._where |= {block: (3 + len(arguments) + k, 0) for k, block in enumerate(self._results)}
        self._zeroed_words = 0
        for block in kept:
            if block.zeroed:
                self._where[block] = (2, self._zeroed_words)
                self._zeroed_words += _aligned(block.words)
        passing = [block for block in kept if block not in self._where]
        starts, self.words = _shared(passing)
        self._where |= {block: (1, start) for block, start in zip(passing, starts)}

    def _pack(self, trace: Recorder) -> None:
        launches = [node for node in trace.nodes if isinstance(node, Launch)]
        self._constants = [block.array for node in launches for block, _ in node.buffers if block.array is not None]
        self._slots = np.zeros((len(launches), cpu.MAX_BUFFERS), np.intp)
        self._offsets = np.zeros((len(launches), cpu.MAX_BUFFERS), np.uint64)
        packed, steps = [], []
        for row, node in enumerate(launches):
            for column, (block, start) in enumerate(node.buffers):
                if block.array is not None:
                    self._offsets[row, column] = address(block.array)
                else:
                    slot, first = self._where[block]
                    self._slots[row, column], self._offsets[row, column] = slot, WORD * (first + start)
            packed.append(np.frombuffer(cpu.packed_launch((), node.grid, node.kernel.lanes), np.uint8))
            steps.append((node.kernel.items, node.kernel.slice, 0, node.threads))
        self._records = np.stack(packed) if packed else np.zeros((0, cpu.LAUNCH_BYTES), np.uint8)
        self._steps = np.array(steps, np.uint64).reshape(-1, 4)


def _handed_out(x):
    if isinstance(x, np.ndarray):
        return x.copy()
    if not isinstance(x, Recorded):
        raise TypeError(f"a compiled function must return arrays, in lists and tuples, got {type(x).__name__}")
    x.block.result = True
    return x


def _flat(x: np.ndarray) -> np.ndarray:
    if x.dtype != np.uint32:
        raise TypeError(f"arrays must be uint32, got {x.dtype}")
    return np.ascontiguousarray(x).reshape(-1)


def _mapped(function, nested):
    """`function` of every array of nested lists and tuples."""
    if isinstance(nested, (list, tuple)):
        return type(nested)([_mapped(function, part) for part in nested])
    return function(nested)


def _aligned(words: int) -> int:
    return -(-words // _ALIGNED) * _ALIGNED


def _shared(blocks: list[Block]) -> tuple[list[int], int]:
    """First words of blocks, in the order in which they are made, such that those needed at a time lie apart; and the
    words taken: each goes where it first fits."""
    starts, most, live = [], 0, []
    for block in blocks:
        live = [one for one in live if one[2] >= block.made]
        start = 0
        for first, end, _ in live:  # by first word
            if first - start >= block.words:
                break
            start = max(start, end)
        starts.append(start)
        live.append((start, start + _aligned(block.words), block.used))
        live.sort()
        most = max(most, live[-1][1], start + _aligned(block.words))
    return starts, most


def _segments(nodes: list) -> list:
    """Runs of launches as ranges of their numbers, and the host's steps between them."""
    parts, first, last = [], 0, 0
    for node in nodes:
        if isinstance(node, HostStep):
            parts += [range(first, last)] if last > first else []
            parts.append(node)
            first = last
        else:
            last += 1
    return parts + ([range(first, last)] if last > first else [])


def run_program(programs: dict, device, function, *arguments):
    """`function(*arguments)` by the program of `programs` for their shapes, made at first; played where none pays, and
    in another trace, which then sees its launches."""
    if recorder() is not None:
        return function(*arguments)
    key = (str(_mapped(lambda x: tuple(x.shape), arguments)), device.threads, device.tuning)
    if key not in programs:
        if len(programs) >= _MOST_PROGRAMS:
            programs.clear()
        program = Program(function, arguments)
        programs[key] = program if program.worth_it else None
    program = programs[key]
    return function(*arguments) if program is None else program.run(arguments)
