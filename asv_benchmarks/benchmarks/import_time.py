"""What a process pays before its first proof: imports, and the kernels' compilation."""

import os
import subprocess
import sys
import tempfile
import time

from .common import DEVICES, usable

_FIRST_PROOF = """
import sys
import numpy as np
from whir_mlx import Whir
pcs = Whir(num_variables=12, security_level=60, pow_bits=10, device=sys.argv[1])
pcs.open(pcs.commit(np.arange(1 << 12))[1])
"""


class Imports:
    """Each in an interpreter of its own."""

    def timeraw_package(self):
        return "import whir_mlx"

    def timeraw_command_line(self):
        return "import whir_mlx.cli.main"


class FirstProof:
    """A whole process with one small proof: with an empty kernel cache (cold), and after that (warm)."""

    params = (DEVICES,)
    param_names = ("device",)
    unit = "s"
    timeout = 900

    def setup(self, device):
        usable(device)

    def track_cold(self, device):
        with tempfile.TemporaryDirectory() as cache:
            return _seconds(device, cache)

    def track_warm(self, device):
        with tempfile.TemporaryDirectory() as cache:
            _seconds(device, cache)
            return _seconds(device, cache)


def _seconds(device, cache):
    start = time.perf_counter()
    environment = {**os.environ, "WHIR_MLX_CACHE": cache}
    subprocess.run([sys.executable, "-c", _FIRST_PROOF, device], env=environment, check=True)
    return time.perf_counter() - start
