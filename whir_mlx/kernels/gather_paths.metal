// out[q, l, j] = the j-th other node, in order, of the group of siblings of layer l that lies on the path of query q: of nodes
// g A .. g A + A - 1, where A is the arity and g = indices[q] >> (l + 1) log_arity, all but the query's own, indices[q] >> l log_arity.
// size: [log_arity, layers]. indices: (Q,) plain integers. layer0 .. layer26: (nodes, 8) digests, lowest first (any array past
// the last one). out: (Q, layers, A - 1, 8). Grid: (8 (A - 1), layers, Q) threads.

#define PATH_LAYER(number) \
  if (l == number) out[place] = layer##number[word];

kernel void gather_paths(
    const constant uint* size [[buffer(0)]],
    const device uint* indices [[buffer(1)]],
    const device uint* layer0 [[buffer(2)]],
    const device uint* layer1 [[buffer(3)]],
    const device uint* layer2 [[buffer(4)]],
    const device uint* layer3 [[buffer(5)]],
    const device uint* layer4 [[buffer(6)]],
    const device uint* layer5 [[buffer(7)]],
    const device uint* layer6 [[buffer(8)]],
    const device uint* layer7 [[buffer(9)]],
    const device uint* layer8 [[buffer(10)]],
    const device uint* layer9 [[buffer(11)]],
    const device uint* layer10 [[buffer(12)]],
    const device uint* layer11 [[buffer(13)]],
    const device uint* layer12 [[buffer(14)]],
    const device uint* layer13 [[buffer(15)]],
    const device uint* layer14 [[buffer(16)]],
    const device uint* layer15 [[buffer(17)]],
    const device uint* layer16 [[buffer(18)]],
    const device uint* layer17 [[buffer(19)]],
    const device uint* layer18 [[buffer(20)]],
    const device uint* layer19 [[buffer(21)]],
    const device uint* layer20 [[buffer(22)]],
    const device uint* layer21 [[buffer(23)]],
    const device uint* layer22 [[buffer(24)]],
    const device uint* layer23 [[buffer(25)]],
    const device uint* layer24 [[buffer(26)]],
    const device uint* layer25 [[buffer(27)]],
    const device uint* layer26 [[buffer(28)]],
    device uint* out [[buffer(29)]],
    uint3 thread_position_in_grid [[thread_position_in_grid]]) {
  int log_arity = int(size[0]), layers = int(size[1]);
  int arity = 1 << log_arity, width = 8 * (arity - 1);
  lane_index k = thread_position_in_grid.x;
  RETURN_OUTSIDE_GRID(k, width);
  int l = int(thread_position_in_grid.y), q = int(thread_position_in_grid.z);
  // The shifts stay below 32: a layer with nodes above it has at most 2^27 nodes.
  int node = int(indices[q]) >> l * log_arity;
  int own = node & (arity - 1);
  uint other = uint(k) >> 3;
  other = other + select(uint(0), uint(1), other >= uint(own));
  uint word = (other + uint(node - own)) * 8 + (uint(k) & 7);
  auto place = k + (q * layers + l) * width;
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
