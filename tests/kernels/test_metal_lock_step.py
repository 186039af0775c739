"""As `test_metal_memory.py`, with the threads of a SIMD group in lock-step."""

import pytest

from tests.kernels.test_metal_memory import CASES, check_answer

# (seed of the orders, SIMD width).
LOCK_STEP_ORDERS = ((3, 32), (6, 64), (7, 8))


@pytest.mark.parametrize(("seed", "width"), LOCK_STEP_ORDERS)
@pytest.mark.parametrize("label", CASES)
def test_answers_do_not_depend_on_order_in_lock_step(label, seed, width):
    check_answer(label, seed, width, lock_step=True)
