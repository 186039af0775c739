// One pass of a number-theoretic transform down the rows of a matrix: `levels` levels of decimation in frequency, done in
// threadgroup memory in radix-16 steps (8, 4 or 2 for the rest). After all passes
//   y[i, c] = sum_b x[b, c] * g(log_rows)^(i b)   (rows of x past its end are 0), natural order in and out.
// Zero padding costs nothing: with R = 2^log_input rows of x, y falls into 2^log_rows / R transforms of R rows, transform s
// being that of x[b] * g(log_rows)^(b rev(s)); the first pass multiplies as it loads.
// A pass works on sub-transforms of `span` rows. A tile takes T = 2^levels rows, `stride` = span / T apart, and `lanes`
// independent lanes. In a step of radix R on local sub-spans of R * step rows, output k (in place rev(k)) of the butterfly
// at local row `inner` < step is multiplied by g(log of the sub-span's rows)^((offset + inner * stride) * k). The last pass
// (stride 1) writes row r to row rev(r), so bit reversal costs no pass of its own.
//
// size: [log_rows, width, log_span, levels, expand, lanes, blocks, scale]; expand: in the first pass log_rows - log_input,
//   later -1; blocks: lane blocks a tile; scale: 0, or in the last pass of an inverse transform the word of 2^-log_rows.
// x: (rows, width); twiddles: (2^log_rows,) powers of g(log_rows); y: (2^log_rows, width). All Montgomery words.
// Lanes: WIDE 1: `lanes` columns of one row. WIDE 0: with stride > 1, `lanes` consecutive words (several rows); with
// stride 1, column l % width of the tile whose number is l / width reversed, so that neighbours write neighbouring rows.
// DIRECT 1: the first step reads x and the last one writes y, so that words are in the tile between steps only; 0: copied as a
// whole before and after, row by row, where a butterfly's scattered rows would fall out of a small cache.
// Grid: groups x = block + blocks * tile. Threads: x along lanes, y along butterflies. TILE_WORDS words a tile.
#include "butterfly.h"
#include "ntt_tile.h"

// Where lane `lane` of the group lies: its row offset in the sub-transform, and from which words to which.
#if WIDE
// Tile `place`: sub-transform place / stride at row offset place % stride.
#define NTT_PLACE \
  int offset = place & (stride - 1), transform = place >> (log_span - levels); \
  auto column = lane + block * lanes; \
  auto x_base = column + offset * width; \
  int y_row = (transform << log_span) + offset, first_row = place << levels;
#else
// With stride > 1 a tile's lanes are words block * lanes + l of the sub-transform's first stride rows;
// with stride 1 they are the columns of the tiles (runs of T rows) from block * lanes / width on, in reversed order.
#define NTT_PLACE \
  uint word = lane + block * lanes; \
  uint row_of_word = width == 1 ? word : word / uint(width); \
  uint offset = stride > 1 ? row_of_word : uint(0), column = word - row_of_word * uint(width); \
  uint transform = stride > 1 ? uint(place) : reverse_index(row_of_word, log_rows > levels ? log_rows - levels : 1); \
  uint x_base = stride > 1 ? word : column; \
  uint y_row = (transform << log_span) + offset, first_row = transform << levels;
#endif

// Later passes work in place on y's layout.
#define NTT_SOURCE \
  if (expand < 0) x_base = column + y_row * width; \
  auto frequency = expand > 0 ? reverse_index(transform, expand) : transform; \
  auto source = ntt_source(x, twiddles, x_base, stride * width, expand > 0, offset, frequency, stride);
#define NTT_SINK \
  if (stride == 1) y_row = reverse_index(first_row, log_rows) * up; \
  auto sink = ntt_sink(y, y_row, column, stride > 1 ? stride : 0, stride > 1 ? 0 : up, log_rows, width);

kernel void ntt(
    const constant uint* size [[buffer(0)]],
    const device uint* x [[buffer(1)]],
    const device uint* twiddles [[buffer(2)]],
    device uint* y [[buffer(3)]],
    uint3 thread_position_in_threadgroup [[thread_position_in_threadgroup]],
    uint3 threadgroup_position_in_grid [[threadgroup_position_in_grid]],
    uint3 threads_per_threadgroup [[threads_per_threadgroup]]) {
  THREADGROUP_ARRAY(tile, TILE_WORDS);
  int log_rows = int(size[0]), width = int(size[1]), log_span = int(size[2]), levels = int(size[3]);
  int expand = int(size[4]), lanes = int(size[5]), blocks = int(size[6]);
  int stride = 1 << (log_span - levels);
  int block = int(threadgroup_position_in_grid.x) % blocks;
  int place = int(threadgroup_position_in_grid.x) / blocks;
  int lane_step = int(threads_per_threadgroup.x);
  int up = size[7] == 0u ? 1 : -1;

  int first_thread = int(thread_position_in_threadgroup.y), threads = int(threads_per_threadgroup.y);

#if !DIRECT
  for (int l0 = 0; l0 < lanes; l0 += lane_step) {
    lane_index lane = thread_position_in_threadgroup.x + l0;
    NTT_PLACE
    NTT_SOURCE
    for (int row = first_thread; row < 1 << levels; row += threads) tile[lane + row * lanes] = source.load(row);
  }
  GROUP_BARRIER();
#endif

  ROLLED_LOOP
  for (int taken = 0; taken < levels; taken += 4) {
    int remaining = levels - taken;
    int radix_bits = min(remaining, 4);
    int log_step = remaining - radix_bits;
    int butterflies = 1 << (levels - radix_bits);
    // g(log of this step's sub-span) as a power of g(log_rows): that sub-span has 2^remaining * stride rows.
    int shift = log_rows - (log_span - levels + remaining);
    // The last step of the last pass has sub-spans of one butterfly: every offset is 0.
    bool twiddled = stride << log_step > 1, scaled = !twiddled && size[7] != 0u;
    bool first = DIRECT && taken == 0, last = DIRECT && remaining <= 4;
    for (int l0 = 0; l0 < lanes; l0 += lane_step) {
      lane_index lane = thread_position_in_threadgroup.x + l0;
      NTT_PLACE
      NTT_SOURCE
      NTT_SINK
      auto factors = ntt_twiddles(twiddles, offset, stride, shift, twiddled, uint(size[7]), scaled);
      for (int b = first_thread; b < butterflies; b += threads) {
        auto places = ntt_places(tile, lane, lanes, b, log_step, first, last);
        if (radix_bits == 4) {
          ntt_step<16>(places, source, sink, factors);
        } else if (radix_bits == 3) {
          ntt_step<8>(places, source, sink, factors);
        } else if (radix_bits == 2) {
          ntt_step<4>(places, source, sink, factors);
        } else {
          ntt_step<2>(places, source, sink, factors);
        }
      }
    }
    if (!last) GROUP_BARRIER();
  }

#if !DIRECT
  for (int l0 = 0; l0 < lanes; l0 += lane_step) {
    lane_index lane = thread_position_in_threadgroup.x + l0;
    NTT_PLACE
    NTT_SINK
    for (int row = first_thread; row < 1 << levels; row += threads) sink.store(sink.place(row), tile[lane + row * lanes]);
  }
#endif
}
