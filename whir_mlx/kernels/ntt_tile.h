// The parts of one pass over a tile: where its words come from, where they go, and one radix step (see ntt.metal).

// Global rows of a tile: local row r is at base + r * row_words. Where zero padding is folded in (`expand`), it is row
// offset + r * stride of x and is multiplied by the power of that number times `frequency`.
template <typename X, typename Twiddles, typename Base, typename Offset>
struct NttSource {
  X x;
  Twiddles twiddles;
  Base base;
  int row_words;
  bool expand;
  Offset offset, frequency;
  int stride;
  KERNEL_FUNCTION_METHOD uint load(int row) const {
    uint value = x[base + row * row_words];
    if (expand) value = field_mul(value, twiddles[(offset + row * stride) * frequency]);
    return value;
  }
};
// Made by a function, since its argument types are deduced without the address spaces that Metal's `decltype` may keep.
template <typename X, typename Twiddles, typename Base, typename Offset>
KERNEL_FUNCTION NttSource<X, Twiddles, Base, Offset> ntt_source(
    X x, Twiddles twiddles, Base base, int row_words, bool expand, Offset offset, Offset frequency, int stride) {
  return NttSource<X, Twiddles, Base, Offset>{x, twiddles, base, row_words, expand, offset, frequency, stride};
}

// Where a pass writes: in place, or (last pass) to the bit-reversed row; an inverse transform negates the row index and scales.
template <typename Y, typename Base, typename Row, typename Column>
struct NttSink {
  Y y;
  Base base;
  int row_words;
  bool reverse;
  Row first_row;
  Column column;
  int log_rows, width;
  uint scale;
  bool inverse;
  KERNEL_FUNCTION_METHOD void store(int row, uint value) const {
    if (!reverse) {
      y[base + row * row_words] = value;
      return;
    }
    auto natural = reverse_index(first_row + row, log_rows);
    if (inverse) {
      value = field_mul(value, scale);
      natural = (0 - natural) & ((1 << log_rows) - 1);
    }
    y[column + natural * width] = value;
  }
};
template <typename Y, typename Base, typename Row, typename Column>
KERNEL_FUNCTION NttSink<Y, Base, Row, Column> ntt_sink(
    Y y, Base base, int row_words, bool reverse, Row first_row, Column column, int log_rows, int width, uint scale, bool inverse) {
  return NttSink<Y, Base, Row, Column>{y, base, row_words, reverse, first_row, column, log_rows, width, scale, inverse};
}

// Butterfly `b` of a step of radix R: local rows start + j * step, j < R. `offset` is that of the tile's rows, in rows of the
// sub-transform; the twiddle of output k is the (offset + inner * stride) k -th power, 2^twiddle_shift table steps each.
template <int R, typename Tile, typename Lane, typename Twiddles, typename Offset>
KERNEL_FUNCTION void ntt_step(
    Tile tile, Lane lane, int lanes, int b, int step, Twiddles twiddles, Offset offset, int stride, int twiddle_shift, bool twiddled) {
  int inner = b & (step - 1);
  auto place = lane + ((b - inner) * R + inner) * lanes;
  int gap = step * lanes;
  uint v[R];
  UNROLLED_LOOP
  for (int j = 0; j < R; j++) v[j] = tile[place + j * gap];
  butterfly<R>(v);
  tile[place] = v[0];
  if (twiddled) {
    auto exponent = (offset + inner * stride) << twiddle_shift;
#if WIDE
    UNROLLED_LOOP
    for (int slot = 1; slot < R; slot++) {
      tile[place + slot * gap] = field_mul(v[slot], twiddles[exponent * reverse_small(slot, R)]);
    }
#else
    // Lanes have twiddles of their own here: R - 2 products take less than as many scattered reads.
    uint powers[R];
    powers[1] = twiddles[exponent];
    UNROLLED_LOOP
    for (int k = 2; k < R; k++) powers[k] = field_mul(powers[k / 2], powers[k - k / 2]);
    UNROLLED_LOOP
    for (int slot = 1; slot < R; slot++) tile[place + slot * gap] = field_mul(v[slot], powers[reverse_small(slot, R)]);
#endif
  } else {
    UNROLLED_LOOP
    for (int slot = 1; slot < R; slot++) tile[place + slot * gap] = v[slot];
  }
}
