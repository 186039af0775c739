// Whether SIMD groups are as the other kernels take them: W threads, consecutive along x. All words are 0 where they are.
//   widths[i] = threads of a SIMD group - W; lanes[i] = the lane of thread i - i mod W;
//   partners[i] = the number of the thread whose word lane W - 1 gives - the last number of i's run of W.
// size: [W], a power of two. widths, lanes, partners: (N,), N a multiple of W; differences modulo 2^32. Grid: N threads along x.
kernel void simd_width(
    const constant uint* size [[buffer(0)]],
    device uint* widths [[buffer(1)]],
    device uint* lanes [[buffer(2)]],
    device uint* partners [[buffer(3)]],
    uint3 thread_position_in_grid [[thread_position_in_grid]],
    uint thread_index_in_simdgroup [[thread_index_in_simdgroup]],
    uint threads_per_simdgroup [[threads_per_simdgroup]]) {
  lane_index i = thread_position_in_grid.x;
  uint number = i;
  int last = int(size[0]) - 1;
  uint lane = number & uint(last);
  widths[i] = threads_per_simdgroup - uint(last + 1);
  lanes[i] = thread_index_in_simdgroup - lane;
  partners[i] = simd_shuffle(number, uint(last)) - (number - lane + uint(last));
}
