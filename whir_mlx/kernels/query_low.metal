// out[q, b] = z_q^b, b < B, with z_q = g(log_domain)^indices[q], by table.
// size: [B, log_domain]. indices: (Q,) plain integers; table: (2^log_domain,) powers of g(log_domain). out: (Q, B). Montgomery
// words. Grid: (B, Q) threads.
#include "field.h"

kernel void query_low(
    const constant uint* size [[buffer(0)]],
    const device uint* indices [[buffer(1)]],
    const device uint* table [[buffer(2)]],
    device uint* out [[buffer(3)]],
    uint3 thread_position_in_grid [[thread_position_in_grid]]) {
  lane_index b = thread_position_in_grid.x;
  RETURN_OUTSIDE_GRID(b, size[0]);
  int q = int(thread_position_in_grid.y);
  uint mask = uint((1 << int(size[1])) - 1);
  // The product wraps modulo 2^32, a multiple of 2^log_domain.
  out[b + q * int(size[0])] = table[(uint(b) * uint(indices[q])) & mask];
}
