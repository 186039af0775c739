// Check build of the CPU target, part 5: the program. It reads a launch and its inputs from the standard input, runs every
// thread, and writes the outputs to the standard output. Included after the kernel's text, which defined BUFFERS (the
// buffers' Memory, inputs first), COUNT_INPUTS, COUNT_BUFFERS, KERNEL_ATOMIC and
// KERNEL_COOPERATIVE.
static void read_exactly(void* data, size_t bytes) {
  if (bytes && fread(data, 1, bytes, stdin) != bytes) {
    fprintf(stderr, "the launch ends early\n");
    _exit(2);
  }
}

// Run the threads of group `g`, of which `shape.grid` and `round_up` say which there are.
static void run_threads_of(Triple g, uint32_t group_number, Thread* threads, uint32_t* order) {
  const Triple size = shape.group_size;
  const uint32_t capacity = size.x * size.y * size.z;
  uint32_t count = 0;
  for (uint32_t local = 0; local < capacity; local++) {
    Thread& t = threads[count];
    t.local = Triple{local % size.x, local / size.x % size.y, local / size.x / size.y};
    t.group = g;
    t.grid = Triple{g.x * size.x + t.local.x, g.y * size.y + t.local.y, g.z * size.z + t.local.z};
    bool inside = t.grid.x < shape.grid.x && t.grid.y < shape.grid.y && t.grid.z < shape.grid.z;
    if (!inside && !shape.round_up) continue;
    t.number = group_number * capacity + local;
    t.local_number = count;
    t.simd_lane = count % shape.simd_width;
    count++;
  }
  if (shape.cooperative || shape.lock_step) {
    run_group(threads, count);
    return;
  }
  for (uint32_t i = 0; i < count; i++) order[i] = i;
  permute(order, count);
  for (uint32_t i = 0; i < count; i++) {
    current = threads[order[i]];
    in_kernel = true;
    run_thread();
    in_kernel = false;
  }
}

int main() {
  // seed, SIMD width, round up, lock-step, grouped, grid (threads, or groups where grouped), group, words of every buffer.
  int64_t head[11 + COUNT_BUFFERS];
  read_exactly(head, sizeof head);
  shape.seed = uint64_t(head[0]);
  shape.simd_width = uint32_t(head[1]);
  shape.round_up = head[2] != 0;
  shape.lock_step = head[3] != 0;
  shape.grouped = head[4] != 0;
  shape.cooperative = KERNEL_COOPERATIVE;
  shape.group_size = Triple{uint32_t(head[8]), uint32_t(head[9]), uint32_t(head[10])};
  const Triple size = shape.group_size;
  if (shape.grouped) {
    shape.groups = Triple{uint32_t(head[5]), uint32_t(head[6]), uint32_t(head[7])};
    shape.grid = Triple{shape.groups.x * size.x, shape.groups.y * size.y, shape.groups.z * size.z};
  } else {
    shape.grid = Triple{uint32_t(head[5]), uint32_t(head[6]), uint32_t(head[7])};
    shape.groups = Triple{(shape.grid.x + size.x - 1) / size.x, (shape.grid.y + size.y - 1) / size.y,
                          (shape.grid.z + size.z - 1) / size.z};
  }
  const uint32_t capacity = size.x * size.y * size.z;
  if (capacity > MAX_GROUP) violation(Site{nullptr, 0}, "groups of %u threads, more than %u", capacity, MAX_GROUP);
  for (int i = 0; i < COUNT_BUFFERS; i++) {
    Memory& m = BUFFERS[i];
    m.words = head[11 + i];
    if (i < COUNT_INPUTS) {
      uint32_t* words = new uint32_t[size_t(m.words)];
      read_exactly(words, 4 * size_t(m.words));
      m.input = words;
    } else {
      m.shadow = new Word[size_t(m.words)];
      if (KERNEL_ATOMIC) {
        for (int64_t k = 0; k < m.words; k++) {
          m.shadow[k].value = 0;
          m.shadow[k].writer.by = 0;
        }
      }
    }
  }

  uint32_t count = shape.groups.x * shape.groups.y * shape.groups.z;
  uint32_t* groups = new uint32_t[count];
  for (uint32_t i = 0; i < count; i++) groups[i] = i;
  permute(groups, count);
  Thread* threads = new Thread[capacity];
  uint32_t* order = new uint32_t[capacity];
  for (uint32_t i = 0; i < count; i++) {
    uint32_t n = groups[i];
    Triple group = {n % shape.groups.x, n / shape.groups.x % shape.groups.y, n / shape.groups.x / shape.groups.y};
    run_threads_of(group, n, threads, order);
  }

  for (int i = COUNT_INPUTS; i < COUNT_BUFFERS; i++) {
    const Memory& m = BUFFERS[i];
    uint32_t* words = new uint32_t[size_t(m.words)];
    for (int64_t k = 0; k < m.words; k++) {
      if (m.shadow[k].writer.by == NO_THREAD) {
        violation(Site{nullptr, 0}, "no thread writes output %s[%lld] (of %lld words)", m.name, (long long)k, (long long)m.words);
      }
      words[k] = m.shadow[k].value;
    }
    if (fwrite(words, 4, size_t(m.words), stdout) != size_t(m.words)) _exit(2);
    delete[] words;
  }
  fflush(stdout);
  _exit(0);
}
