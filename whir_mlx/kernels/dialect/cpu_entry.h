// What the thread pool calls: `kernel_items` says into how many pieces a launch falls, `kernel_slice` runs some of them.
// Included last, with KERNEL_LANES (threads a vector) and KERNEL_GROUPED (1: a piece is a group; 0: a vector of threads).
extern "C" int64_t kernel_items(const Launch* launch) {
#if KERNEL_GROUPED
  int64_t across = launch->grid[0] / launch->group[0];
#else
  int64_t across = (launch->grid[0] + KERNEL_LANES - 1) / KERNEL_LANES;
#endif
  return across * launch->grid[1] * launch->grid[2];
}

extern "C" void kernel_slice(const Launch* launch, int64_t first, int64_t last) {
  int64_t across = kernel_items(launch) / launch->grid[1] / launch->grid[2];
  for (int64_t item = first; item < last; item++) {
    uint32_t x = uint32_t(item % across);
    uint32_t y = uint32_t(item / across % launch->grid[1]);
    uint32_t z = uint32_t(item / across / launch->grid[1]);
#if KERNEL_GROUPED
    wide::run(launch, x * KERNEL_LANES, y, z, x);
#else
    uint32_t start = x * KERNEL_LANES;
    uint32_t count = uint32_t(launch->grid[0]) - start;
    if (count >= KERNEL_LANES) {
      wide::run(launch, start, y, z, x);
    } else {
      for (uint32_t i = 0; i < count; i++) narrow::run(launch, start + i, y, z, x);
    }
#endif
  }
}
