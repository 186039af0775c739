"""`whir-mlx bench --stages`: where the time of one proof goes.

A copy of the device times every launch. On a lazy device each launch is then computed at once, inputs first, so kernels
do not overlap and each pays a round trip (`sync_ms`, measured beside and taken off: the row "watching"). On CUDA with
PyTorch at hand, kernel times come from the driver's records of the proof as it really runs, and nothing is taken off.
What no launch accounts for is glue: Python, NumPy, waiting, and on watched lazy devices MLX's own small kernels.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from copy import copy
from dataclasses import asdict, dataclass, replace

import numpy as np

from whir_mlx.bench.cuda_trace import trace_kernels
from whir_mlx.bench.limits import Limits, measure_limits
from whir_mlx.bench.machine import machine_facts
from whir_mlx.bench.proofs import Prover, median
from whir_mlx.bench.results import Measured
from whir_mlx.bench.shapes import SHAPES, Statement
from whir_mlx.bench.tables import milliseconds, percent, rate, render
from whir_mlx.bench.work import STAGES, launch_bytes, permutations, products_of_permutation, stage_of
from whir_mlx.errors import ParameterError
from whir_mlx.kernels.device import Device
from whir_mlx.kernels.montgomery import to_montgomery

__all__ = ["GLUE", "WATCHING", "Launch", "Profile", "bench_stages", "profile_proof"]

GLUE, WATCHING = "glue", "watching"


@dataclass(frozen=True)
class Launch:
    """One launch: milliseconds since the proof began and of the launch, permutations and bytes of its work."""

    kernel: str
    start_ms: float
    ms: float
    permutations: int
    width: int
    bytes: int


@dataclass(frozen=True)
class Profile:
    """launches in order; instrumented_ms: the same proof's whole time; plain_ms: median without instruments.

    method: "launches" (each computed as it is launched), "watched" (the same on a lazy device, less the round trips) or
    "traced" (the driver's records). sync_ms: what evaluating one launch by itself adds, 0 where nothing was taken off.
    grind_permutations: of the witnesses that were found.
    """

    launches: tuple[Launch, ...]
    method: str
    instrumented_ms: float
    plain_ms: float
    sync_ms: float
    grind_permutations: int

    def stages(self) -> dict[str, dict]:
        """Per stage that occurs, and for glue: ms, launches, permutations, products, bytes."""
        found: dict[str, dict] = {}
        for launch in self.launches:
            row = found.setdefault(stage_of(launch.kernel), _empty())
            row["ms"] += launch.ms
            row["launches"] += 1
            if launch.permutations:
                row["permutations"] += launch.permutations
                row["products"] += launch.permutations * products_of_permutation(launch.width)
            row["bytes"] += launch.bytes
        if "grind" in found:
            found["grind"]["permutations"] = self.grind_permutations
            found["grind"]["products"] = self.grind_permutations * products_of_permutation(16)
        ordered = {name: found[name] for name in STAGES if name in found}
        rest = max(0.0, self.instrumented_ms - sum(launch.ms for launch in self.launches))
        watching = min(rest, self.sync_ms * len(self.launches))
        if watching:
            ordered[WATCHING] = {**_empty(), "ms": watching}
        return {**ordered, GLUE: {**_empty(), "ms": rest - watching}}

    def kernels(self) -> dict[str, dict]:
        """Per kernel, the longest first: ms, launches, bytes."""
        found: dict[str, dict] = {}
        for launch in self.launches:
            row = found.setdefault(launch.kernel, {"ms": 0.0, "launches": 0, "bytes": 0})
            row["ms"] += launch.ms
            row["launches"] += 1
            row["bytes"] += launch.bytes
        return dict(sorted(found.items(), key=lambda item: -item[1]["ms"]))


def _empty() -> dict:
    return {"ms": 0.0, "launches": 0, "permutations": 0, "products": 0, "bytes": 0}


class _Recorder:
    """Stands in for a device's `launch`."""

    def __init__(self, device: Device):
        self.device, self.launches, self.origin = device, [], 0.0
        self._launch = device.launch

    def __call__(self, name: str, size, inputs: list, outputs: list, **options) -> list:
        if self.device.lazy:
            self.device.evaluate(*inputs)
        start = time.perf_counter()
        results = self._launch(name, size, inputs, outputs, **options)
        self.device.evaluate(*results)
        seconds = time.perf_counter() - start
        values = options.get("values") or {}
        self.launches.append(
            Launch(
                name,
                1e3 * (start - self.origin),
                1e3 * seconds,
                permutations(name, inputs, outputs, values),
                values.get("WIDTH", 16),
                launch_bytes(name, inputs, outputs),
            )
        )
        return results


def profile_proof(device: Device, statement: Statement, *, seed: int = 0, runs: int = 3) -> Profile:
    """The profile of the median-length one of `runs` instrumented proofs, all warm."""
    plain = Prover(device, statement, seed).times(runs, verify=False)
    # A copy is another key of every cache of compiled programs, and need not compile: then every launch is seen.
    watched = copy(device)
    recorder = _Recorder(watched)
    watched.launch = recorder
    watched.compile = lambda function: function
    watched.bind = lambda *arguments, **keywords: None
    prover = Prover(watched, statement, seed)
    found = []
    for run in range(runs + 1):
        recorder.launches, recorder.origin = [], time.perf_counter()
        _, proof, commit, opened = prover.prove()
        if run:  # the first makes tables that are kept
            found.append((commit + opened, tuple(recorder.launches)))
    whole, launches = sorted(found, key=lambda entry: entry[0])[len(found) // 2]
    method, sync = "launches", 0.0
    traced = trace_kernels(Prover(device, statement, seed).prove) if device.name == "cuda" else None
    if traced is not None:
        method, whole, launches = "traced", traced[0], _with_work(traced[1], launches)
    elif device.lazy:
        method, sync = "watched", _sync_ms(device)
        launches = tuple(replace(launch, ms=max(0.0, launch.ms - sync)) for launch in launches)
    return Profile(launches, method, whole, median(plain.total), sync, _grind_permutations(proof))


def _with_work(traced: list[tuple[str, float, float]], watched: tuple[Launch, ...]) -> tuple[Launch, ...]:
    """Traced kernels with the work of the watched launches of the same name, one by one."""
    waiting: dict[str, list[Launch]] = {}
    for launch in reversed(watched):
        waiting.setdefault(launch.kernel, []).append(launch)
    launches = []
    for name, start, ms in traced:
        same = waiting.get(name)
        work = same.pop() if same else Launch(name, 0.0, 0.0, 0, 16, 0)
        launches.append(replace(work, start_ms=start, ms=ms))
    return tuple(launches)


def _sync_ms(device: Device) -> float:
    """Milliseconds of a launch of next to nothing, evaluated."""
    word = device.asarray(np.ones(16, np.uint32))
    device.evaluate(word)
    times = []
    for _ in range(50):
        start = time.perf_counter()
        device.evaluate(to_montgomery(device, word))
        times.append(1e3 * (time.perf_counter() - start))
    return median(times[10:])


def _grind_permutations(proof) -> int:
    """One permutation a tried witness, the one found included. Finds every field whose name says witness."""
    if isinstance(proof, dict):
        total = 0
        for name, value in proof.items():
            if "witness" in name and not isinstance(value, dict):
                words = np.asarray(value, np.int64).reshape(-1)
                total += int(words.sum()) + int((words > 0).sum())
            else:
                total += _grind_permutations(value)
        return total
    if isinstance(proof, (list, tuple)):
        return sum(_grind_permutations(entry) for entry in proof)
    if hasattr(proof, "__dataclass_fields__"):
        return _grind_permutations({name: getattr(proof, name) for name in proof.__dataclass_fields__})
    return 0


def bench_stages(
    device: Device, shapes: tuple[str, ...], logs: tuple[int, ...], *, runs: int, say: Callable[[str], None]
) -> tuple[Measured, list[tuple[str, Profile]]]:
    """Stage tables of every shape and size, and the profiles for a picture."""
    facts = machine_facts(device)
    facts["threads"] = getattr(device, "threads", None)
    say("limits of the machine")
    limits = measure_limits(device)
    rows, sections, profiles = [], [], []
    for name in shapes:
        for n in logs:
            title = f"shape {name}, 2^{n}"
            say(title)
            try:
                statement = SHAPES[name].statement(n)
            except ParameterError as error:
                rows.append({"shape": name, "n": n, "refused": str(error)})
                sections.append((title, [f"refused: {error}"]))
                continue
            profile = profile_proof(device, statement, runs=runs)
            profiles.append((title, profile))
            rows.append({"shape": name, "n": n, **_values(profile)})
            sections.append((title, stage_lines(device, profile, limits)))
    return Measured("stages", facts, {"limits": limits.values(), "rows": rows}, sections), profiles


def _values(profile: Profile) -> dict:
    values = asdict(profile)
    values["launches"] = len(profile.launches)
    return {**values, "stages": profile.stages(), "kernels": profile.kernels()}


def stage_lines(device: Device, profile: Profile, limits: Limits) -> list[str]:
    """The table of stages, the notes below it, and the table of kernels."""
    header = ["stage", "launches", "ms", "share", "permutations/s", "of products", "bytes/s", "of copy"]
    total = sum(row["ms"] for row in profile.stages().values())
    body = []
    for name, row in profile.stages().items():
        seconds = row["ms"] / 1e3
        cells = [name, str(row["launches"]), milliseconds(row["ms"]), percent(row["ms"] / total if total else None)]
        if seconds and row["permutations"]:
            share = row["products"] / seconds / limits.products if limits.products else None
            cells += [rate(row["permutations"] / seconds), percent(share)]
        else:
            cells += ["", ""]
        moved = row["bytes"] / seconds if seconds and row["bytes"] else None
        body.append([*cells, rate(moved), percent(moved / limits.bytes if moved else None)])
    lines = render(header, body)
    lines += ["", f"sum {milliseconds(total)} ms with instruments, {milliseconds(profile.plain_ms)} ms without"]
    if profile.method == "traced":
        lines.append("kernel times are the driver's records of the proof as it runs; kernels may overlap")
    if profile.method == "watched":
        price = f"{1e3 * profile.sync_ms:.0f} us, what a launch of next to nothing takes, is taken off each"
        lines.append(f"each of {len(profile.launches)} launches was computed by itself; the price of watching, {price}")
    products = rate(limits.products, "Montgomery products/s") if limits.products else "products not measured"
    lines.append(f"limits: {products}, copy {rate(limits.bytes, 'bytes/s')} (read + written)")
    kernels = [
        [name, str(row["launches"]), milliseconds(row["ms"]), percent(row["ms"] / total if total else None)]
        for name, row in profile.kernels().items()
    ]
    return [*lines, "", *render(["kernel", "launches", "ms", "share"], kernels)]
