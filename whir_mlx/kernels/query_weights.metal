// out[a B + b] = w[a B + b] + sum_{j < J} gamma^(1 + j) * ood[j, a B + b] + sum_{q < Q} high[a, q] * low[q, b]:
// the weights of a round's out-of-domain and STIR query claims, the powers of the query points split in two factors.
// size: [B, J, Q, A]. w, out: (A B, 4); ood: (J, A B, 4); gamma: (4,); high: (A, Q, 4); low: (Q, B) base.
// Montgomery words. Grid: (B, A) threads.
#include "field.h"
#include "ext.h"

kernel void query_weights(
    const constant uint* size [[buffer(0)]],
    const device uint* w [[buffer(1)]],
    const device uint* ood [[buffer(2)]],
    const device uint* gamma [[buffer(3)]],
    const device uint* high [[buffer(4)]],
    const device uint* low [[buffer(5)]],
    device uint* out [[buffer(6)]],
    uint3 thread_position_in_grid [[thread_position_in_grid]]) {
  lane_index b = thread_position_in_grid.x;
  RETURN_OUTSIDE_GRID(b, size[0]);
  int columns = int(size[0]), samples = int(size[1]), queries = int(size[2]);
  int a = int(thread_position_in_grid.y);
  auto at = b + a * columns;
  Quad sum = ext_zero(), factor = load_quad(gamma, 0);
  int total = columns * int(size[3]);
  ROLLED_LOOP
  for (int j = samples - 1; j >= 0; j--) sum = ext_mul(ext_add(sum, load_quad(ood, at + j * total)), factor);
  sum = ext_add(sum, load_quad(w, at));
  // Four products a reduction.
  int q = 0;
  ROLLED_LOOP
  for (; q + 4 <= queries; q += 4) {
    Quad c0 = load_quad(high, a * queries + q), c1 = load_quad(high, a * queries + q + 1);
    Quad c2 = load_quad(high, a * queries + q + 2), c3 = load_quad(high, a * queries + q + 3);
    uint x0 = low[b + q * columns], x1 = low[b + (q + 1) * columns], x2 = low[b + (q + 2) * columns], x3 = low[b + (q + 3) * columns];
    sum = ext_add(sum, ext_scale_4(x0, c0, x1, c1, x2, c2, x3, c3));
  }
  ROLLED_LOOP
  for (; q < queries; q++) sum = ext_add(sum, ext_scale(load_quad(high, a * queries + q), low[b + q * columns]));
  store_quad(out, at, sum);
}
