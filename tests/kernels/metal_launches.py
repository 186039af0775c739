"""Every launch that the package can ask of Metal, by tracing: operations at all their switches, and whole proofs."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

import mlx.core as mx

from tests.helpers import PROOF_NAMES, load_proof
from tests.kernels.metal_trace import HostRead, TracedKernel, TracingDevice, record
from tests.kernels.operation_cases import small_cases
from tests.proving import FULL_ARGS, arguments_of, commit, tables_of
from whir_mlx.protocol.prover import open_proof

JOHNSON = {"security": 100, "pow": 20, "fold": 4, "rate": 1}
CAPACITY = {"security": 80, "pow": 16, "fold": 4, "rate": 1, "soundness": "capacity", "reduction": 3}
# Whole proofs, by label: (changes to FULL_ARGS). Tracing computes nothing, so size costs nothing.
PROOFS = {
    "2^12": {**JOHNSON, "tables": [[12, 1]]},
    "2^20": {**JOHNSON, "tables": [[20, 1]]},
    "2^20 prefix": {**JOHNSON, "tables": [[20, 1]], "layout": "prefix"},
    "2^20 w24": {**JOHNSON, "tables": [[20, 1]], "tree": "w24"},
    "2^20 ary4": {**JOHNSON, "tables": [[20, 1]], "tree": "ary4"},
    "tables": {**JOHNSON, "tables": [[17, 3], [10, 5]], "next": True},
    "S 2^22": {**CAPACITY, "tables": [[22, 1]]},
    "S 2^24": {**CAPACITY, "tables": [[24, 1]]},
    "S 2^27": {**CAPACITY, "security": 70, "tables": [[27, 1]]},
    "S 2^24 ary4": {**CAPACITY, "tables": [[24, 1]], "tree": "ary4"},
    "S 2^24 w24": {**CAPACITY, "tables": [[24, 1]], "tree": "w24"},
}


@dataclass(frozen=True)
class Launch:
    """One launch: what the wrapper asked for. words: of all inputs and outputs together."""

    label: str
    name: str
    size: tuple[int, ...]
    values: tuple[tuple[str, int], ...]
    threads: int
    group: int
    words: int


class RecordingDevice(TracingDevice):
    """A tracing device that also keeps its launches; once compiled functions are traced they are traced in place."""

    def __init__(self, label: str, launches: list[Launch]):
        super().__init__()
        self.label, self.launches = label, launches

    def compile(self, function):
        return function

    def launch(
        self, name, size, inputs, outputs, *, grid=None, groups=None, group=(256, 1, 1), values=None, **keywords
    ):
        found = super().launch(
            name, size, inputs, outputs, grid=grid, groups=groups, group=group, values=values, **keywords
        )
        a, b, c = grid or groups
        each = 1 if grid else group[0] * group[1] * group[2]
        words = sum(x.size for x in inputs) + sum(x.size for x in found)
        values = tuple(sorted((values or {}).items()))
        self.launches.append(
            Launch(self.label, name, tuple(size), values, a * b * c * each, group[0] * group[1] * group[2], words)
        )
        return found


def _proof(label: str, args: dict, tables, launches: list[Launch]) -> list[TracedKernel]:
    arguments = arguments_of(args)

    def run(*arrays):
        device = RecordingDevice(label, launches)
        data = commit(args, arguments, device, tables=list(arrays))
        try:
            open_proof(data, arguments["schedule"], points=arguments["points"])
        except HostRead as read:
            return [read.array]
        raise AssertionError("the prover never read its result")

    return record(run, *tables)


@lru_cache(maxsize=1)
def collected() -> tuple[tuple[Launch, ...], tuple[tuple[str, TracedKernel], ...]]:
    """(launches as asked, (label, kernel as MLX generated it)) of everything."""
    launches: list[Launch] = []
    kernels: list[tuple[str, TracedKernel]] = []
    for case in small_cases():

        def run(*arrays, case=case):
            out = case.call(RecordingDevice(case.label, launches), *arrays)
            return list(out) if isinstance(out, (list, tuple)) else [out]

        kernels += [(case.label, kernel) for kernel in record(run, *case.arrays)]
    for name in PROOF_NAMES:
        args = load_proof(name).args
        kernels += [(name, kernel) for kernel in _proof(name, {**FULL_ARGS, **args}, tables_of(args), launches)]
    for label, changes in PROOFS.items():
        args = {**FULL_ARGS, **changes}
        tables = [mx.zeros((columns, 1 << log_rows), mx.uint32) for log_rows, columns in args["tables"]]
        kernels += [(label, kernel) for kernel in _proof(label, args, tables, launches)]
    return tuple(launches), tuple(kernels)


@lru_cache(maxsize=1)
def texts() -> dict[str, str]:
    """Kernel name -> text, of everything."""
    return {kernel.name: kernel.source for _, kernel in collected()[1]}


def base_name(kernel_name: str) -> str:
    """The `.metal` file of a generated name, custom_kernel_<file>_<hash>_<types>."""
    return re.match(r"custom_kernel_(\w+?)_[0-9a-f]{16}", kernel_name).group(1)


def with_form(text: str, form: str) -> str:
    """The text as MLX would generate it for inputs that all lie in the address space `form` (empty: as traced)."""
    start = text.rindex("[[kernel]] void")
    # The name holds a hash of the forms; one name for all lets equal texts be parsed once.
    kernel = re.sub(r"void custom_kernel_\w+", "void custom_kernel", text[start:])
    return text[:start] + (
        re.sub(r"const (constant|device) uint32_t\*", f"const {form} uint32_t*", kernel) if form else kernel
    )
