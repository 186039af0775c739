"""What the verifier keeps of a statement: one object for equal statements, and nothing that a caller could change."""

import numpy as np
import pytest

from tests.helpers import PROOF_NAMES, load_proof
from whir_mlx.field.constants import MONTY_ONE, P
from whir_mlx.protocol.layout import Layout
from whir_mlx.protocol.seeds import opening_seed
from whir_mlx.protocol.statement import Schedule
from whir_mlx.protocol.verifier_plan import verifier_plan


def arguments(name: str) -> tuple:
    case = load_proof(name)
    return tuple(case.arguments[key] for key in ("layout", "schedule", "config"))


@pytest.mark.parametrize("name", PROOF_NAMES[:2])
def test_equal_statements_share_a_plan(name):
    layout, schedule, config = arguments(name)
    plan = verifier_plan(layout, schedule, config, False)
    equal = Layout(layout.order, layout.tables, layout.folding_factor), Schedule(schedule.batches)
    assert verifier_plan(*equal, config, False) is plan
    prescribed = verifier_plan(layout, schedule, config, True)
    assert prescribed.openings[0].tolist() != plan.openings[0].tolist()
    with pytest.raises(ValueError, match="read-only"):
        plan.whir[0] = 1


def test_seeds_are_montgomery_words():
    layout, schedule, config = arguments(PROOF_NAMES[0])
    table, batch = schedule.flat[0]
    expected = [word * MONTY_ONE % P for word in opening_seed(layout, table, batch, False).tolist()]
    words = verifier_plan(layout, schedule, config, False).openings[0]
    assert words.tolist() == expected and words.dtype == np.uint32
