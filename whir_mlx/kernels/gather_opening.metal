// An opening: the rows x[indices[q], :], and after all of them the sibling digests on the path of each query: of layer l the nodes
// g A .. g A + A - 1, A the arity and g = indices[q] >> (l + 1) log_arity, all but the query's own, indices[q] >> l log_arity.
// size: [log_arity, layers, w, ceil(w / 8), Q], then for each layer, lowest first, its store and its first node there. indices: (Q,)
// plain integers. x: (R, w). store0 .. store26: (nodes, 8) digests (any array past the last one). out: (Q, w) and (Q, layers, A - 1,
// 8). Grid: (8, ceil(w / 8) + layers (A - 1), Q) threads, eight words of a row or a digest along x.

#define PATH_STORE(number) \
  if (store == number) out[place] = store##number[word];

kernel void gather_opening(
    const constant uint* size [[buffer(0)]],
    const device uint* indices [[buffer(1)]],
    const device uint* x [[buffer(2)]],
    const device uint* store0 [[buffer(3)]],
    const device uint* store1 [[buffer(4)]],
    const device uint* store2 [[buffer(5)]],
    const device uint* store3 [[buffer(6)]],
    const device uint* store4 [[buffer(7)]],
    const device uint* store5 [[buffer(8)]],
    const device uint* store6 [[buffer(9)]],
    const device uint* store7 [[buffer(10)]],
    const device uint* store8 [[buffer(11)]],
    const device uint* store9 [[buffer(12)]],
    const device uint* store10 [[buffer(13)]],
    const device uint* store11 [[buffer(14)]],
    const device uint* store12 [[buffer(15)]],
    const device uint* store13 [[buffer(16)]],
    const device uint* store14 [[buffer(17)]],
    const device uint* store15 [[buffer(18)]],
    const device uint* store16 [[buffer(19)]],
    const device uint* store17 [[buffer(20)]],
    const device uint* store18 [[buffer(21)]],
    const device uint* store19 [[buffer(22)]],
    const device uint* store20 [[buffer(23)]],
    const device uint* store21 [[buffer(24)]],
    const device uint* store22 [[buffer(25)]],
    const device uint* store23 [[buffer(26)]],
    const device uint* store24 [[buffer(27)]],
    const device uint* store25 [[buffer(28)]],
    const device uint* store26 [[buffer(29)]],
    device uint* out [[buffer(30)]],
    uint3 thread_position_in_grid [[thread_position_in_grid]]) {
  lane_index k = thread_position_in_grid.x;
  RETURN_OUTSIDE_GRID(k, 8);
  int y = int(thread_position_in_grid.y), q = int(thread_position_in_grid.z);
  int layers = int(size[1]), width = int(size[2]), chunks = int(size[3]);
  int index = int(indices[q]);
  if (y < chunks) {
    auto word = k + 8 * y;
    if (8 * y + 8 <= width) {
      out[word + q * width] = x[word + index * width];
    } else {
      uint inside = min(uint(word), uint(width - 1));
      STORE_IF(uint(word) < uint(width), out, uint(word) + q * width, x[inside + index * width]);
    }
    return;
  }
  int log_arity = int(size[0]), arity = 1 << log_arity, sibling = y - chunks;
  int l = sibling / (arity - 1), other = sibling % (arity - 1);
  // The shifts stay below 32: a layer with nodes above it has at most 2^27 nodes.
  int node = index >> l * log_arity, own = node & (arity - 1);
  other += other >= own ? 1 : 0;
  int store = int(size[5 + 2 * l]);
  auto word = k + (int(size[6 + 2 * l]) + node - own + other) * 8;
  auto place = k + (int(size[4]) * width + (q * layers * (arity - 1) + sibling) * 8);
  PATH_STORE(0)
  PATH_STORE(1)
  PATH_STORE(2)
  PATH_STORE(3)
  PATH_STORE(4)
  PATH_STORE(5)
  PATH_STORE(6)
  PATH_STORE(7)
  PATH_STORE(8)
  PATH_STORE(9)
  PATH_STORE(10)
  PATH_STORE(11)
  PATH_STORE(12)
  PATH_STORE(13)
  PATH_STORE(14)
  PATH_STORE(15)
  PATH_STORE(16)
  PATH_STORE(17)
  PATH_STORE(18)
  PATH_STORE(19)
  PATH_STORE(20)
  PATH_STORE(21)
  PATH_STORE(22)
  PATH_STORE(23)
  PATH_STORE(24)
  PATH_STORE(25)
  PATH_STORE(26)
}
