"""What the verifier keeps of a statement: one object for equal statements, and nothing that a caller could change."""

import numpy as np
import pytest

from tests.helpers import PROOF_NAMES, host_device, load_proof
from whir_mlx.field.constants import MONTY_ONE, P
from whir_mlx.protocol.layout import Layout
from whir_mlx.protocol.seeds import opening_seed
from whir_mlx.protocol.statement import OpeningBatch, Schedule
from whir_mlx.protocol.verifier_plan import verifier_plan
from whir_mlx.whir import Whir


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


@pytest.mark.parametrize("layout", ["suffix", "prefix"])
@pytest.mark.parametrize("opened", [(0,), (1,), (0, 2)])
def test_tables_that_are_not_opened(layout, opened):
    # Selectors of 1, 3 and 2 bits: those of the tables left out are wider, or shorter, than those that count.
    tables = [(6, 1), (4, 2), (5, 1)]
    pcs = Whir(tables=tables, folding_factor=2, security_level=30, pow_bits=4, layout=layout, device=host_device())
    evals = [np.arange(columns << rows).reshape(columns, -1) for rows, columns in tables]
    commitment, data = pcs.commit(evals)
    batches = [[OpeningBatch((0,), (0,))] if table in opened else [] for table in range(3)]
    schedule = Schedule(batches)
    results = pcs.verify(commitment, pcs.open(data, schedule=schedule), schedule=schedule)
    assert [result.table for result in results] == list(opened)
