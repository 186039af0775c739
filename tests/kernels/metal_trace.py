"""Tracing launches for the Metal target on any machine: MLX records the kernels of a graph without running them."""

from __future__ import annotations

from dataclasses import dataclass

import mlx.core as mx

from tests.kernels.operation_cases import Case
from tests.proving import commit
from whir_mlx.kernels.targets.gpu import GpuDevice
from whir_mlx.protocol.prover import open_proof


@dataclass(frozen=True)
class TracedKernel:
    """One launch: the text that MLX generated (less its preamble), and how it starts."""

    name: str
    source: str
    grid: tuple[int, int, int]
    group: tuple[int, int, int]


class HostRead(Exception):
    """Ends a trace where the host would read the graph's result."""

    def __init__(self, array):
        super().__init__("a host read ends the graph")
        self.array = array


class TracingDevice(GpuDevice):
    """A Metal device for use inside `mx.export_function`; its first host read raises `HostRead`."""

    def __init__(self):
        super().__init__("metal", trace=True)

    def numpy(self, x, *, words=None):
        raise HostRead(x)


def record(function, *arrays) -> list[TracedKernel]:
    """The launches of `function(*arrays)`, which returns MLX arrays. An evaluation or read inside it raises."""
    found: list[TracedKernel] = []

    def collect(node: dict) -> None:
        if node.get("name") == "CustomKernel":
            name, source, *numbers = node["arguments"]
            found.append(TracedKernel(name, source, tuple(numbers[:3]), tuple(numbers[3:6])))

    mx.export_function(collect, function, *(mx.array(x) for x in arrays))
    return found


def trace(case: Case) -> list[TracedKernel]:
    """The launches of one operation."""

    def run(*arrays):
        out = case.call(TracingDevice(), *arrays)
        return list(out) if isinstance(out, (list, tuple)) else [out]

    return record(run, *case.arrays)


def trace_proof(args: dict, arguments: dict, tables) -> list[TracedKernel]:
    """The launches of commit and open (see `tests.proving`), up to the one read that ends them."""

    def run(*arrays):
        data = commit(args, arguments, TracingDevice(), tables=list(arrays))
        try:
            open_proof(data, arguments["schedule"], points=arguments.get("points"))
        except HostRead as read:
            return [read.array]
        raise AssertionError("the prover never read its result")

    return record(run, *tables)
