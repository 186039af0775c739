// out[q, c] = x[indices[q], c].
// size: [width]. x: (R, width); indices: (Q,) plain integers below R; out: (Q, width). Grid: (width, Q) threads.
kernel void gather_rows(
    const constant uint* size [[buffer(0)]],
    const device uint* x [[buffer(1)]],
    const device uint* indices [[buffer(2)]],
    device uint* out [[buffer(3)]],
    uint3 thread_position_in_grid [[thread_position_in_grid]]) {
  lane_index c = thread_position_in_grid.x;
  RETURN_OUTSIDE_GRID(c, size[0]);
  int width = int(size[0]);
  int q = int(thread_position_in_grid.y);
  out[c + q * width] = x[c + int(indices[q]) * width];
}
