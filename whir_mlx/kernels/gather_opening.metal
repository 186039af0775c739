// An opening: the rows x[indices[q], :], and after all of them the sibling digests on the path of each query: of layer l the nodes
// g A .. g A + A - 1, A the arity and g = indices[q] >> (l + 1) log_arity, all but the query's own, indices[q] >> l log_arity.
// size: [log_arity, layers, w, ceil(w / 8), Q]. indices: (Q,) plain integers. x: (R, w). layer0 .. layer26: (nodes, 8) digests, lowest
// first (any array past the last one). out: (Q, w) and (Q, layers, A - 1, 8). Grid: (8, ceil(w / 8) + layers (A - 1), Q) threads, eight
// words of a row or a digest along x.

#define PATH_LAYER(number) \
  if (l == number) out[place] = layer##number[word];

kernel void gather_opening(
    const constant uint* size [[buffer(0)]],
    const device uint* indices [[buffer(1)]],
    const device uint* x [[buffer(2)]],
    const device uint* layer0 [[buffer(3)]],
    const device uint* layer1 [[buffer(4)]],
    const device uint* layer2 [[buffer(5)]],
    const device uint* layer3 [[buffer(6)]],
    const device uint* layer4 [[buffer(7)]],
    const device uint* layer5 [[buffer(8)]],
    const device uint* layer6 [[buffer(9)]],
    const device uint* layer7 [[buffer(10)]],
    const device uint* layer8 [[buffer(11)]],
    const device uint* layer9 [[buffer(12)]],
    const device uint* layer10 [[buffer(13)]],
    const device uint* layer11 [[buffer(14)]],
    const device uint* layer12 [[buffer(15)]],
    const device uint* layer13 [[buffer(16)]],
    const device uint* layer14 [[buffer(17)]],
    const device uint* layer15 [[buffer(18)]],
    const device uint* layer16 [[buffer(19)]],
    const device uint* layer17 [[buffer(20)]],
    const device uint* layer18 [[buffer(21)]],
    const device uint* layer19 [[buffer(22)]],
    const device uint* layer20 [[buffer(23)]],
    const device uint* layer21 [[buffer(24)]],
    const device uint* layer22 [[buffer(25)]],
    const device uint* layer23 [[buffer(26)]],
    const device uint* layer24 [[buffer(27)]],
    const device uint* layer25 [[buffer(28)]],
    const device uint* layer26 [[buffer(29)]],
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
  auto word = k + (node - own + other) * 8;
  auto place = k + (int(size[4]) * width + (q * layers * (arity - 1) + sibling) * 8);
  PATH_LAYER(0)
  PATH_LAYER(1)
  PATH_LAYER(2)
  PATH_LAYER(3)
  PATH_LAYER(4)
  PATH_LAYER(5)
  PATH_LAYER(6)
  PATH_LAYER(7)
  PATH_LAYER(8)
  PATH_LAYER(9)
  PATH_LAYER(10)
  PATH_LAYER(11)
  PATH_LAYER(12)
  PATH_LAYER(13)
  PATH_LAYER(14)
  PATH_LAYER(15)
  PATH_LAYER(16)
  PATH_LAYER(17)
  PATH_LAYER(18)
  PATH_LAYER(19)
  PATH_LAYER(20)
  PATH_LAYER(21)
  PATH_LAYER(22)
  PATH_LAYER(23)
  PATH_LAYER(24)
  PATH_LAYER(25)
  PATH_LAYER(26)
}
