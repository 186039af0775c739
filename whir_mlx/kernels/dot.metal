// shares[v] = the part of sum_i a[i] * b[i] that vector v of threads adds up: thread t takes i = t + j T, j < J.
// size: [T, J, N], T a multiple of the vector's threads. a, b: (N, 4); shares: (T / threads of a vector, 4). Montgomery words.
// Grid: T threads along x.
#include "field.h"
#include "ext.h"
#include "reduce.h"

kernel void dot(
    const constant uint* size [[buffer(0)]],
    const device uint* a [[buffer(1)]],
    const device uint* b [[buffer(2)]],
    device uint* shares [[buffer(3)]],
    uint3 thread_position_in_grid [[thread_position_in_grid]],
    uint thread_index_in_simdgroup [[thread_index_in_simdgroup]]) {
  lane_index t = thread_position_in_grid.x;
  int count = int(size[2]);
  Quad sum = ext_zero();
  bool whole = int(size[0]) * int(size[1]) == count;
  ROLLED_LOOP
  for (int j = 0; j < int(size[1]); j++) {
    lane_index i = t + j * int(size[0]);
    Quad x, y;
    if (whole) {
      x = load_quad(a, i);
      y = load_quad(b, i);
    } else {
      // Past the end the last product is read and not added: every thread takes part in the sum below.
      uint inside = min(uint(i), uint(count - 1));
      x = load_quad(a, inside);
      y = load_quad(b, inside);
    }
    sum = ext_add(sum, ext_select(ext_zero(), ext_mul(x, y), uint(i) < uint(count)));
  }
  store_share(shares, int(lane_front(t)) / REDUCE_WIDTH, vector_sum_ext(sum), thread_index_in_simdgroup);
}
