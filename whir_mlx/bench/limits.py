"""The two limits of a machine that kernels are held against: copied bytes and Montgomery products a second, measured.

CPU products: widening 32 x 32 multiplications of the vector unit, in independent chains, by three (x y, q, q p on even
and odd lanes). GPU products: the field inverse, a chain of 59 products a thread over many threads.
"""

from __future__ import annotations

import ctypes
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np

from whir_mlx.field.constants import P
from whir_mlx.kernels.device import Device

__all__ = ["Limits", "measure_limits"]

_COPY_WORDS = {True: 1 << 26, False: 1 << 24}
"""A quarter of a gigabyte on a GPU (past its cache), 64 MB on a CPU."""

_INVERSE_PRODUCTS = 59
_CHAINS = 12
_PRODUCTS = """
#include <cstdint>
#if defined(__AVX512F__)
#include <immintrin.h>
typedef __m512i Vector;
static inline Vector fill(uint64_t x) { return _mm512_set1_epi64(x); }
static inline Vector product(Vector a, Vector b) { return _mm512_mul_epu32(a, b); }
#elif defined(__AVX2__)
#include <immintrin.h>
typedef __m256i Vector;
static inline Vector fill(uint64_t x) { return _mm256_set1_epi64x(x); }
static inline Vector product(Vector a, Vector b) { return _mm256_mul_epu32(a, b); }
#elif defined(__SSE2__)
#include <immintrin.h>
typedef __m128i Vector;
static inline Vector fill(uint64_t x) { return _mm_set1_epi64x(x); }
static inline Vector product(Vector a, Vector b) { return _mm_mul_epu32(a, b); }
#elif defined(__ARM_NEON)
#include <arm_neon.h>
typedef uint64x2_t Vector;
static inline Vector fill(uint64_t x) { return vdupq_n_u64(x); }
static inline Vector product(Vector a, Vector b) { return vmull_u32(vmovn_u64(a), vmovn_u64(b)); }
#else
typedef uint64_t Vector;
static inline Vector fill(uint64_t x) { return x; }
static inline Vector product(Vector a, Vector b) { return (uint64_t)(uint32_t)a * (uint32_t)b; }
#endif
// Widening products done: `rounds` in each of CHAINS independent chains, which unrolling keeps in registers.
extern "C" uint64_t widening_products(uint64_t rounds, uint64_t seed, uint64_t* out) {
  Vector chain[CHAINS], factor = fill(seed | 1);
#pragma GCC unroll 16
  for (int i = 0; i < CHAINS; i++) chain[i] = fill(seed + i);
  for (uint64_t round = 0; round < rounds; round++) {
#pragma GCC unroll 16
    for (int i = 0; i < CHAINS; i++) chain[i] = product(chain[i], factor);
  }
  Vector sum = chain[0];
#pragma GCC unroll 16
  for (int i = 1; i < CHAINS; i++) sum = sum ^ chain[i];
  __builtin_memcpy(out, &sum, 8);
  return rounds * CHAINS * (sizeof(Vector) / 8);
}
"""


@dataclass(frozen=True)
class Limits:
    """bytes: read plus written a second by a copy; products: Montgomery products a second, None where not measured."""

    bytes: float
    products: float | None

    def values(self) -> dict:
        """For JSON."""
        return {"copy_bytes_per_s": self.bytes, "products_per_s": self.products}


def measure_limits(device: Device) -> Limits:
    """Both limits of `device`, in well under a second."""
    if device.lazy:
        return Limits(_copy_lazy(device), _products_lazy(device))
    threads = getattr(device, "threads", 1)
    return Limits(_copy_host(threads), _products_host(device, threads) if device.name == "cpu" else None)


def _best(work: Callable[[], object], runs: int = 9) -> float:
    """Shortest seconds of warm runs: a limit is what the machine can do when left alone."""
    work()
    times = []
    for _ in range(runs):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return min(times)


def _copy_host(threads: int) -> float:
    source = np.arange(_COPY_WORDS[False], dtype=np.uint32)
    target = np.zeros_like(source)
    parts = list(zip(np.array_split(source, threads), np.array_split(target, threads), strict=True))
    with ThreadPoolExecutor(threads) as pool:
        seconds = _best(lambda: list(pool.map(lambda part: np.copyto(part[1], part[0]), parts)))
    return 2 * source.nbytes / seconds


def _products_host(device: Device, threads: int) -> float | None:
    from whir_mlx.kernels.targets.compiler import build_library, vector_builds

    flags = vector_builds().get(device.vector_lanes, ())
    built = build_library(_PRODUCTS, ("-O3", f"-DCHAINS={_CHAINS}", "-w", *flags), "limits")
    function = built.widening_products
    function.argtypes = [ctypes.c_uint64, ctypes.c_uint64, ctypes.c_void_p]
    function.restype = ctypes.c_uint64

    def run(seed: int) -> int:
        return function(1 << 20, seed, ctypes.byref(ctypes.c_uint64()))

    done = []
    with ThreadPoolExecutor(threads) as pool:
        seconds = _best(lambda: done.append(sum(pool.map(run, range(1, threads + 1)))))
    return done[-1] / seconds / 3


def _copy_lazy(device: Device) -> float:
    source = device.asarray(np.arange(_COPY_WORDS[True], dtype=np.uint32))
    device.evaluate(source)
    # MLX's own elementwise kernel: reads every word once and writes it once.
    seconds = _best(lambda: device.evaluate(source + 1))
    return 8 * _COPY_WORDS[True] / seconds


def _products_lazy(device: Device) -> float:
    from whir_mlx.kernels.field_arithmetic import field_inverse

    count = 1 << 24
    words = device.asarray(np.arange(1, count + 1, dtype=np.uint32) % P)
    device.evaluate(words)
    return _INVERSE_PRODUCTS * count / _best(lambda: device.evaluate(field_inverse(device, words)))
