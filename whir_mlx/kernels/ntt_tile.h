// The parts of one radix step of a tile: where its words come from, where they go, and the step itself (see ntt.metal).

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

// Where the last step of a pass writes: in place, or (last pass) to the bit-reversed row; an inverse transform negates the
// row index and scales.
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

struct NttStep {
  int b;              // number of the butterfly
  int step;           // local rows between its inputs
  int stride;         // global rows a local row
  int twiddle_shift;  // log2 of the twiddle table's step
  int lanes;
  bool first, last;
};

template <int R, typename Source, typename Sink, typename Tile, typename Lane, typename Twiddles, typename Offset>
KERNEL_FUNCTION void ntt_step(NttStep at, Source source, Sink sink, Tile tile, Lane lane, Twiddles twiddles, Offset offset) {
  int inner = at.b & (at.step - 1);
  int start = (at.b - inner) * R + inner;
  uint v[R];
  UNROLLED_LOOP
  for (int j = 0; j < R; j++) {
    int row = start + j * at.step;
    v[j] = at.first ? source.load(row) : uint(tile[lane + row * at.lanes]);
  }
  butterfly<R>(v);
  // The last step of the last pass has sub-spans of R rows: every offset is 0.
  bool twiddled = !(at.last && at.stride == 1);
  UNROLLED_LOOP
  for (int slot = 0; slot < R; slot++) {
    int k = reverse_small(slot, R);
    uint value = v[slot];
    if (k > 0 && twiddled) {
      value = field_mul(value, twiddles[((offset + inner * at.stride) * k) << at.twiddle_shift]);
    }
    int row = start + slot * at.step;
    if (at.last) {
      sink.store(row, value);
    } else {
      tile[lane + row * at.lanes] = value;
    }
  }
}
