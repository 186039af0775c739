"""Where an opening runs: on the GPU that committed, or on the CPU, reading what the GPU left in memory.

`device`: all of it on the GPU. `host`: on the CPU target; where GPU and CPU share memory (Apple) the committed arrays
are read in place, on CUDA they are copied once an opening. `auto`: whichever was faster when both were timed here, once
for each device, version and size, and remembered in the cache folder. Proofs are the same bytes.
"""

from __future__ import annotations

import hashlib
import json
import time
from dataclasses import replace
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from whir_mlx.atomic import write_atomic
from whir_mlx.errors import DeviceError
from whir_mlx.hardware import describe
from whir_mlx.kernels.device import Device, get_device, host_target
from whir_mlx.kernels.targets.compiler import cache_folder
from whir_mlx.protocol.merkle import MerkleTree
from whir_mlx.protocol.prover import ProverData, open_proof
from whir_mlx.protocol.transcript import Transcript

__all__ = ["SUMCHECK_MODES", "check_mode", "choose_mode", "on_device", "on_host", "opening_data", "opening_device"]

SUMCHECK_MODES = ("device", "host", "auto")
_REMEMBERED: dict[str, str] = {}


def check_mode(mode: str) -> str:
    """`mode`, one of SUMCHECK_MODES. Raises ValueError."""
    if mode not in SUMCHECK_MODES:
        raise ValueError(f"sumcheck must be one of {', '.join(SUMCHECK_MODES)}, got {mode!r}")
    return mode


def on_host(data: ProverData) -> ProverData:
    """Committed data as the CPU target reads it, to be opened there; without a C++ compiler, as NumPy does."""
    device, host = data.device, get_device(host_target())

    def moved(x):
        return host.asarray(device.host_view(x))

    tree = MerkleTree(data.tree.config, moved(data.tree.rows), tuple(map(moved, data.tree.stores)))
    # A copy of the state: 26 words.
    transcript = Transcript(host, state=host.asarray(device.numpy(data.transcript.fork().state())))
    tables = tuple(map(moved, data.tables))
    return replace(data, device=host, tables=tables, f=moved(data.f), tree=tree, transcript=transcript)


def on_device(data: ProverData, device: Device) -> ProverData:
    """Committed data to be opened on `device`, another of the same arrays (a stepwise one), or the host."""
    if device is data.device:
        return data
    if not device.lazy:
        return on_host(data)
    transcript = data.transcript.fork()
    transcript.device = device
    return replace(data, device=device, transcript=transcript)


def opening_data(mode: str, data: ProverData, schedule, points) -> ProverData:
    """`data` where `mode` opens it; "auto" may time openings first (see `choose_mode`)."""
    if mode == "auto":
        mode = choose_mode(data, schedule, points)
    return on_host(data) if mode == "host" and data.device.name != host_target() else data


def opening_device(mode: str, data: ProverData) -> Device:
    """The device of an opening that was made under `mode`."""
    if mode == "auto":
        mode = _REMEMBERED.get(_key(data), "device")
    return get_device(host_target()) if mode == "host" else data.device


def choose_mode(data: ProverData, schedule, points) -> str:
    """ "device" or "host", by what is remembered, else by timing this opening both ways and remembering it.

    Timing takes two openings each way, the first of which may compile kernels. Raises DeviceError where the two proofs
    differ.
    """
    if not data.device.lazy:
        return "device"
    key = _key(data)
    if key not in _REMEMBERED:
        _REMEMBERED[key] = _read(key) or _measure(key, data, schedule, points)
    return _REMEMBERED[key]


def _key(data: ProverData) -> str:
    """What a choice depends on: machine, versions, and the size class: variables and grinding."""
    from whir_mlx import __version__

    facts = {
        "target": data.device.name,
        "device": describe(data.device),
        "host": describe(get_device(host_target())),
        "whir-mlx": __version__,
        "mlx": _version("mlx"),
        "num_variables": data.config.num_variables,
        "pow_bits": data.config.max_pow_bits,
    }
    return json.dumps(facts, sort_keys=True)


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _path(key: str) -> Path:
    return cache_folder() / f"sumcheck-{hashlib.sha256(key.encode()).hexdigest()[:24]}.json"


def _read(key: str) -> str | None:
    """The choice on disk; None where there is none, or none that can be read."""
    try:
        found = json.loads(_path(key).read_text(encoding="utf-8"))
        return found["choice"] if found["key"] == json.loads(key) and found["choice"] in ("device", "host") else None
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _measure(key: str, data: ProverData, schedule, points) -> str:
    times, proofs = {}, []
    for mode in ("device", "host"):
        for _ in range(2):
            start = time.perf_counter()
            proofs.append(open_proof(on_host(data) if mode == "host" else data, schedule, points=points))
            times[mode] = time.perf_counter() - start
    if any(proof != proofs[0] for proof in proofs):
        raise DeviceError(f"device {data.device.name!r} and the CPU make different proofs of one opening")
    choice = min(times, key=times.get)
    record = {"key": json.loads(key), "choice": choice, "ms": {k: round(1e3 * t, 3) for k, t in times.items()}}
    try:
        cache_folder().mkdir(parents=True, exist_ok=True)
        write_atomic(_path(key), (json.dumps(record, indent=1) + "\n").encode())
    except OSError:
        pass  # it is measured again in the next process
    return choice
