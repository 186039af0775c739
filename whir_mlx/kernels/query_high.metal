// out[a, q] = gammas[first + q] * z_q^(a B), with z_q = g(log_domain)^indices[q], by table.
// size: [Q, B, log_domain, first]. indices: (Q,) plain integers; table: (2^log_domain,) powers of g(log_domain);
// gammas: (first + Q, 4). out: (A, Q, 4). Montgomery words. Grid: (Q, A) threads.
#include "field.h"
#include "ext.h"

kernel void query_high(
    const constant uint* size [[buffer(0)]],
    const device uint* indices [[buffer(1)]],
    const device uint* table [[buffer(2)]],
    const device uint* gammas [[buffer(3)]],
    device uint* out [[buffer(4)]],
    uint3 thread_position_in_grid [[thread_position_in_grid]]) {
  lane_index q = thread_position_in_grid.x;
  RETURN_OUTSIDE_GRID(q, size[0]);
  int a = int(thread_position_in_grid.y);
  uint mask = uint((1 << int(size[2])) - 1);
  uint power = table[(uint(indices[q]) * uint(a * int(size[1]))) & mask];
  store_quad(out, q + a * int(size[0]), ext_scale(load_quad(gammas, q + int(size[3])), power));
}
