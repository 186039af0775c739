// Sums of f times extension weights along one axis, f base (EXT 0) or extension (EXT 1) values, shares of the sum by thread:
//   MODE 0 (columns): partial[z, y, x] = sum_{j < J} f[z, y J + j, x] * weights[y J + j]     x: column, y: chunk of rows
//   MODE 1 (rows):    partial[z, x]    = sum_{j < J} f[z, x, j] * weights[j]                 x: row, all of it
//   MODE 2 (strided): partial[z, y, x] = sum_{j < J} F[z, y, x + j T] * weights[(x + j T) >> shift]   x: thread of T
// with F[z, y] a run of T J values; shift 0 takes one weight a value, shift s one weight for 2^s neighbours.
// size: [X, Y, J, shift]: X threads along x, Y along y. partial: (Z, Y, X, 4). Montgomery words. Grid: (X, Y, Z) threads.
#include "field.h"
#include "ext.h"

kernel void fold_axis(
    const constant uint* size [[buffer(0)]],
    const device uint* f [[buffer(1)]],
    const device uint* weights [[buffer(2)]],
    device uint* partial [[buffer(3)]],
    uint3 thread_position_in_grid [[thread_position_in_grid]]) {
  lane_index x = thread_position_in_grid.x;
  RETURN_OUTSIDE_GRID(x, size[0]);
  int across = int(size[0]), down = int(size[1]), count = int(size[2]);
  int y = int(thread_position_in_grid.y), z = int(thread_position_in_grid.z);
  int place = z * down + y;
  Quad sum = ext_zero();
#if MODE == 0
  auto start = x + place * (count * across);
#define FOLD_INDEX(j) (start + (j) * across)
#define FOLD_WEIGHT(j) load_quad(weights, y * count + (j))
#elif MODE == 1
  auto start = x * count + z * (across * count);
#define FOLD_INDEX(j) (start + (j))
#define FOLD_WEIGHT(j) load_quad(weights, j)
#else
  auto start = x + place * (count * across);
#define FOLD_INDEX(j) (start + (j) * across)
#define FOLD_WEIGHT(j) load_quad(weights, (uint(x) + (j) * across) >> int(size[3]))
#endif
#if EXT
  ROLLED_LOOP
  for (int j = 0; j < count; j++) sum = ext_add(sum, ext_mul(load_quad(f, FOLD_INDEX(j)), FOLD_WEIGHT(j)));
#else
  // Four products a reduction.
  int j = 0;
  ROLLED_LOOP
  for (; j + 4 <= count; j += 4) {
    Quad c0 = FOLD_WEIGHT(j), c1 = FOLD_WEIGHT(j + 1), c2 = FOLD_WEIGHT(j + 2), c3 = FOLD_WEIGHT(j + 3);
    uint x0 = f[FOLD_INDEX(j)], x1 = f[FOLD_INDEX(j + 1)], x2 = f[FOLD_INDEX(j + 2)], x3 = f[FOLD_INDEX(j + 3)];
    sum = ext_add(sum, ext_scale_4(x0, c0, x1, c1, x2, c2, x3, c3));
  }
  ROLLED_LOOP
  for (; j < count; j++) sum = ext_add(sum, ext_scale(FOLD_WEIGHT(j), f[FOLD_INDEX(j)]));
#endif
  store_quad(partial, x + place * across, sum);
}
