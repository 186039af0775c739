// Tables of eq over runs of the coordinates of a point, each run of V coordinates from `first` on a table of its own:
//   out[start + b] = prod_{j < V} (bit j of b ? x[first + j] : 1 - x[first + j]), coordinate `first` at the most significant bit.
// size: [n, univariate, then for each run first, V, start]. point: x, (n, 4); or where `univariate` is 1 a challenge y, (4,), with
// x[j] = y^(2^(n-1-j)): every thread squares it for itself. out: the tables one after the other, (sum of 2^V, 4). Montgomery words.
// Grid: (2^(V-E) threads of the longest run, runs), E = LOG_EACH; thread t makes the 2^E entries b = e 2^(V-E) + t, which have all
// but E factors in common (a run of fewer coordinates is one thread's).
#include "field.h"
#include "ext.h"

kernel void eq_table(
    const constant uint* size [[buffer(0)]],
    const device uint* point [[buffer(1)]],
    device uint* out [[buffer(2)]],
    uint3 thread_position_in_grid [[thread_position_in_grid]]) {
  lane_index t = thread_position_in_grid.x;
  int run = 3 * int(thread_position_in_grid.y);
  int first = int(size[2 + run]), variables = int(size[3 + run]), start = int(size[4 + run]);
  int threads = variables > LOG_EACH ? 1 << (variables - LOG_EACH) : 1;
  if (int(lane_front(t)) >= threads) return;
  bool univariate = int(size[1]) != 0;
  // Coordinates from the last to the first: those of a challenge are its powers by squaring.
  int last = first + variables - 1;
  Quad x = load_quad(point, 0);
  ROLLED_LOOP
  for (int j = univariate ? int(size[0]) - 1 : last; j > last; j--) x = ext_square(x);
  uint bits = t;
  Quad values[1 << LOG_EACH];
  values[0] = ext_one();
  ROLLED_LOOP
  for (int j = last; j >= first + LOG_EACH; j--) {
    if (!univariate) x = load_quad(point, j);
    values[0] = ext_mul(values[0], ext_select(ext_sub(ext_one(), x), x, (bits & 1) == uint(1)));
    if (univariate) x = ext_square(x);
    bits = bits >> 1;
  }
  UNROLLED_LOOP
  for (int level = 0; level < LOG_EACH; level++) {
    int j = (variables < LOG_EACH ? variables : LOG_EACH) - 1 - level;
    if (j < 0) break;
    if (!univariate) x = load_quad(point, first + j);
    UNROLLED_LOOP
    for (int e = 0; e < (1 << level); e++) {
      values[e + (1 << level)] = ext_mul(values[e], x);
      values[e] = ext_sub(values[e], values[e + (1 << level)]);
    }
    if (univariate && j > 0) x = ext_square(x);
  }
  UNROLLED_LOOP
  for (int e = 0; e < (1 << LOG_EACH); e++) {
    if (e < 1 << variables) STORE_QUAD_IF(uint(t) < uint(threads), out, uint(t) + (e * threads + start), values[e]);
  }
}
