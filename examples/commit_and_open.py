"""Commit to two columns, open them at a point of your own, and check the values against the definition."""

import numpy as np

import whir_mlx
from whir_mlx import field

LOG_ROWS = 12
pcs = whir_mlx.Whir(LOG_ROWS, columns=2, security_level=80)
columns = np.stack([whir_mlx.splitmix(seed, 1 << LOG_ROWS) for seed in (1, 2)])
commitment, data = pcs.commit(columns)

# One extension element for each variable, the most significant first.
point = whir_mlx.splitmix(3, 4 * LOG_ROWS).reshape(LOG_ROWS, 4)
proof = pcs.open(data, [point])
(opened,) = pcs.verify(commitment, proof, [point])
print(f"{commitment.hex()}\nopened at the point: {opened.values.tolist()}")
print(f"security: {pcs.security.bits:.1f} bits")

for column, value in zip(columns, opened.values):
    words = field.evaluate(field.to_montgomery(column), field.to_montgomery(point))
    if not np.array_equal(field.from_montgomery(words), value):
        raise SystemExit("the opened value is not the polynomial's")
print("both values are those of the committed columns")
