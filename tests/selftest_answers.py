"""Writes the self-test's known answers anew (`python -m tests.selftest_answers`): kernels by NumPy, proofs by CPU."""

import json

from whir_mlx.atomic import write_atomic
from whir_mlx.kernels.device import get_device
from whir_mlx.selftest.answers import PATH, digest
from whir_mlx.selftest.cases import kernel_cases
from whir_mlx.selftest.proofs import PROOFS, make_pcs, prove, tables_of


def answers() -> dict[str, str]:
    """Digest by label."""
    found = {case.label: digest(case.run(get_device("numpy"))) for case in kernel_cases()}
    for label in PROOFS:
        pcs = make_pcs(label, get_device("cpu"))
        found[label] = digest(prove(pcs, tables_of(pcs)))
    return found


if __name__ == "__main__":
    write_atomic(PATH, (json.dumps(answers(), indent=1) + "\n").encode())
