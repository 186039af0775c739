"""Commit to a model's weights: named float arrays, by their exact bits, one table each."""

import numpy as np

import whir_mlx

random = np.random.default_rng(0)
weights = {
    "embedding": random.standard_normal((64, 32)).astype(np.float32),
    "bias": random.standard_normal(32).astype(np.float16),
}
tables = {name: whir_mlx.encode_bits(array) for name, array in weights.items()}
pcs = whir_mlx.Whir.for_arrays(tables, pad=True, security_level=80)
commitment, data = pcs.commit(tables, pad=True)
for opened in pcs.verify(commitment, pcs.open(data)):
    print(f"{opened.name}: {opened.values.tolist()} at a point of {len(opened.point)} variables")

restored = whir_mlx.decode_bits(tables["embedding"], np.float32, (64, 32))
print("bits restored exactly:", np.array_equal(restored, weights["embedding"]))
