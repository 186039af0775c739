// The powers z_q^i of the query points z_q = g(log_domain)^indices[q] as products of entries of two tables, i = a B + b:
//   low[q, b] = z_q^b, b < B;   high[a, q] = gamma^(first + q) * z_q^(a B), a < A.
// size: [Q, B, A, log_domain, first, rows of high a thread, bits of first + Q - 1]. indices: (Q,) plain integers; table:
// (2^log_domain,) powers of g(log_domain); gamma: (4,). low: (Q, B); high: (A, Q, 4). Montgomery words.
// Grid: along x the larger of B and Q; along y Q rows of low, then A / rows runs of high.
#include "field.h"
#include "ext.h"

kernel void query_tables(
    const constant uint* size [[buffer(0)]],
    const device uint* indices [[buffer(1)]],
    const device uint* table [[buffer(2)]],
    const device uint* gamma [[buffer(3)]],
    device uint* low [[buffer(4)]],
    device uint* high [[buffer(5)]],
    uint3 thread_position_in_grid [[thread_position_in_grid]]) {
  lane_index x = thread_position_in_grid.x;
  int y = int(thread_position_in_grid.y), queries = int(size[0]), columns = int(size[1]), rows = int(size[5]);
  uint mask = uint((1 << int(size[3])) - 1);
  // Products wrap modulo 2^32, a multiple of 2^log_domain.
  if (y < queries) {
    if (int(lane_front(x)) >= columns) return;
    STORE_IF(uint(x) < uint(columns), low, x + y * columns, table[(uint(x) * uint(indices[y])) & mask]);
    return;
  }
  if (int(lane_front(x)) >= queries) return;
  uint exponent = x + int(size[4]);
  Quad square = load_quad(gamma, 0), power = ext_one();
  ROLLED_LOOP
  for (int bit = 0; bit < int(size[6]); bit++) {
    power = ext_select(power, ext_mul(power, square), ((exponent >> bit) & 1) == uint(1));
    square = ext_square(square);
  }
  uint index = indices[min(uint(x), uint(queries - 1))];
  int first = (y - queries) * rows;
  ROLLED_LOOP
  for (int a = first; a < first + rows; a++) {
    uint z = table[(index * uint(a * columns)) & mask];
    STORE_QUAD_IF(uint(x) < uint(queries), high, x + a * queries, ext_scale(power, z));
  }
}
