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

// Where a pass writes. Local row n goes to column `column` of row (first + n down + rev(n) up) mod 2^log_rows: in place `up` is 0; in
// the last pass it goes to the bit-reversed row, `down` is 0 and `up` 1, or -1 where an inverse transform wants minus that row.
template <typename Y, typename Row, typename Column>
struct NttSink {
  Y y;
  Row first;
  Column column;
  int down, up, log_rows, width;
  KERNEL_FUNCTION_METHOD Row place(int row) const { return first + (row * down + reverse_index(row, log_rows) * up); }
  KERNEL_FUNCTION_METHOD void store(Row place, uint value) const { y[column + (place & ((1 << log_rows) - 1)) * width] = value; }
};
template <typename Y, typename Row, typename Column>
KERNEL_FUNCTION NttSink<Y, Row, Column> ntt_sink(Y y, Row first, Column column, int down, int up, int log_rows, int width) {
  return NttSink<Y, Row, Column>{y, first, column, down, up, log_rows, width};
}

// Butterfly `b` of a step: local rows (b - inner) R + inner + j * 2^log_step, j < R, of a lane. They are read from the pass's source
// in the `first` step and written to its sink in the `last` one, where the kernel wants that, else they are in the tile.
template <typename Tile, typename Lane>
struct NttPlaces {
  Tile tile;
  Lane lane;
  int lanes, b, log_step;
  bool first, last;
};
template <typename Tile, typename Lane>
KERNEL_FUNCTION NttPlaces<Tile, Lane> ntt_places(Tile tile, Lane lane, int lanes, int b, int log_step, bool first, bool last) {
  return NttPlaces<Tile, Lane>{tile, lane, lanes, b, log_step, first, last};
}

// What outputs are multiplied by: output k by the (offset + inner * stride) k -th power of g, 2^shift table steps each, or (in the
// last step of the last pass, whose offsets are all 0) all of them by `scale`, where that is not 0.
template <typename Table, typename Offset>
struct NttTwiddles {
  Table table;
  Offset offset;
  int stride, shift;
  bool twiddled;
  uint scale;
  bool scaled;
};
template <typename Table, typename Offset>
KERNEL_FUNCTION NttTwiddles<Table, Offset> ntt_twiddles(
    Table table, Offset offset, int stride, int shift, bool twiddled, uint scale, bool scaled) {
  return NttTwiddles<Table, Offset>{table, offset, stride, shift, twiddled, scale, scaled};
}

// A butterfly of radix R.
template <int R, typename Places, typename Source, typename Sink, typename Twiddles>
KERNEL_FUNCTION void ntt_step(Places at, Source source, Sink sink, Twiddles twiddles) {
  int step = 1 << at.log_step, inner = at.b & (step - 1);
  int row = (at.b - inner) * R + inner;
  auto place = at.lane + row * at.lanes;
  int gap = step * at.lanes;
  uint v[R];
  if (at.first) {
    UNROLLED_LOOP
    for (int j = 0; j < R; j++) v[j] = source.load(row + j * step);
  } else {
    UNROLLED_LOOP
    for (int j = 0; j < R; j++) v[j] = at.tile[place + j * gap];
  }
  butterfly<R>(v);
  if (twiddles.twiddled) {
    auto exponent = (twiddles.offset + inner * twiddles.stride) << twiddles.shift;
#if WIDE
    UNROLLED_LOOP
    for (int slot = 1; slot < R; slot++) v[slot] = field_mul(v[slot], twiddles.table[exponent * reverse_small(slot, R)]);
#else
    // Lanes have twiddles of their own here: R - 2 products take less than as many scattered reads.
    uint powers[R];
    powers[1] = twiddles.table[exponent];
    UNROLLED_LOOP
    for (int k = 2; k < R; k++) powers[k] = field_mul(powers[k / 2], powers[k - k / 2]);
    UNROLLED_LOOP
    for (int slot = 1; slot < R; slot++) v[slot] = field_mul(v[slot], powers[reverse_small(slot, R)]);
#endif
  } else if (twiddles.scaled) {
    UNROLLED_LOOP
    for (int slot = 0; slot < R; slot++) v[slot] = field_mul(v[slot], twiddles.scale);
  }
  if (at.last) {
    // The bits of `row` and of slot * step are apart, so their reversals add up.
    auto start = sink.place(row);
    int down = step * sink.down, up = sink.up * reverse_index(step * (R / 2), sink.log_rows);
    UNROLLED_LOOP
    for (int slot = 0; slot < R; slot++) sink.store(start + (slot * down + reverse_small(slot, R) * up), v[slot]);
  } else {
    UNROLLED_LOOP
    for (int slot = 0; slot < R; slot++) at.tile[place + slot * gap] = v[slot];
  }
}
