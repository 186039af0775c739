// f'[i] = f_lo + r (f_hi - f_lo), w' alike, for pair i (see pairs.h).
// size: [N / 2, s]. f, w: (N, 4); r: (4,); f_folded, w_folded: (N / 2, 4). Montgomery words. Grid: N / 2 threads along x.
#include "field.h"
#include "ext.h"
#include "pairs.h"

kernel void sumcheck_fold(
    const constant uint* size [[buffer(0)]],
    const device uint* f [[buffer(1)]],
    const device uint* w [[buffer(2)]],
    const device uint* r [[buffer(3)]],
    device uint* f_folded [[buffer(4)]],
    device uint* w_folded [[buffer(5)]],
    uint3 thread_position_in_grid [[thread_position_in_grid]]) {
  lane_index i = thread_position_in_grid.x;
  RETURN_OUTSIDE_GRID(i, size[0]);
  int s = int(size[1]);
  Quad challenge_value = load_quad(r, 0);
  uint low = pair_low(i, s);
  uint high = low + (1 << s);
  Quad f_low = load_quad(f, low);
  Quad w_low = load_quad(w, low);
  store_quad(f_folded, i, ext_add(f_low, ext_mul(ext_sub(load_quad(f, high), f_low), challenge_value)));
  store_quad(w_folded, i, ext_add(w_low, ext_mul(ext_sub(load_quad(w, high), w_low), challenge_value)));
}
