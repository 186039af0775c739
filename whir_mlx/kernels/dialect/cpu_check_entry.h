// Check build of the CPU target, part 5: the program. It reads a launch and its inputs from the standard input, runs every
// thread, and writes the outputs to the standard output. A sparse launch, whose arrays would not fit the memory, runs some
// groups only, on inputs given by a formula, and writes for each output how many words were written, where, and what. Included after the kernel's text, which defined BUFFERS (the
// buffers' Memory, inputs first), COUNT_INPUTS, COUNT_BUFFERS, KERNEL_ATOMIC and
// KERNEL_COOPERATIVE.
static void write_exactly(const void* data, size_t bytes) {
  if (bytes && fwrite(data, 1, bytes, stdout) != bytes) _exit(2);
}
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

// The words of an output that were written: their number, their places, their values.
static void write_sparse(const Memory& m) {
  int64_t count = 0, room = 0;
  int64_t* places = nullptr;
  uint32_t* values = nullptr;
  for (int64_t first = 0; first < m.words; first += PAGE_WORDS) {
    if (!m.shadow && !m.pages[first / PAGE_WORDS]) continue;
    for (int64_t at = first; at < first + PAGE_WORDS && at < m.words; at++) {
      const Word& word = word_at(m, at);
      if (word.writer.by == NO_THREAD) continue;
      if (count == room) {
        room = 2 * room + 1024;
        places = static_cast<int64_t*>(realloc(places, 8 * size_t(room)));
        values = static_cast<uint32_t*>(realloc(values, 4 * size_t(room)));
      }
      places[count] = at;
      values[count++] = word.value;
    }
  }
  write_exactly(&count, 8);
  write_exactly(places, 8 * size_t(count));
  write_exactly(values, 4 * size_t(count));
}

int main() {
  // seed, SIMD width, REDUCE_WIDTH, round up, lock-step, grouped, grid (threads, or groups where grouped), group, the number of
  // groups that run (0: all); then of every buffer its words, and the modulus (0: the words follow) and salt of its formula.
  int64_t head[13 + 3 * COUNT_BUFFERS];
  read_exactly(head, sizeof head);
  shape.seed = uint64_t(head[0]);
  shape.simd_width = uint32_t(head[1]);
  shape.reduce_width = int(head[2]);
  shape.round_up = head[3] != 0;
  shape.lock_step = head[4] != 0;
  shape.grouped = head[5] != 0;
  shape.cooperative = KERNEL_COOPERATIVE;
  shape.group_size = Triple{uint32_t(head[9]), uint32_t(head[10]), uint32_t(head[11])};
  const Triple size = shape.group_size;
  if (shape.grouped) {
    shape.groups = Triple{uint32_t(head[6]), uint32_t(head[7]), uint32_t(head[8])};
    shape.grid = Triple{shape.groups.x * size.x, shape.groups.y * size.y, shape.groups.z * size.z};
  } else {
    shape.grid = Triple{uint32_t(head[6]), uint32_t(head[7]), uint32_t(head[8])};
    shape.groups = Triple{(shape.grid.x + size.x - 1) / size.x, (shape.grid.y + size.y - 1) / size.y,
                          (shape.grid.z + size.z - 1) / size.z};
  }
  const uint32_t capacity = size.x * size.y * size.z;
  if (capacity > MAX_GROUP) violation(Site{nullptr, 0}, "groups of %u threads, more than %u", capacity, MAX_GROUP);
  const uint32_t chosen = uint32_t(head[12]), all = shape.groups.x * shape.groups.y * shape.groups.z;
  const uint32_t count = chosen ? chosen : all;
  uint32_t* groups = new uint32_t[count];
  for (uint32_t i = 0; i < count; i++) groups[i] = i;
  if (chosen) read_exactly(groups, 4 * size_t(count));
  permute(groups, count);

  for (int i = 0; i < COUNT_BUFFERS; i++) {
    Memory& m = BUFFERS[i];
    m.words = head[13 + i];
    m.modulus = uint32_t(head[13 + COUNT_BUFFERS + i]);
    m.salt = uint32_t(head[13 + 2 * COUNT_BUFFERS + i]);
    if (i < COUNT_INPUTS) {
      if (m.modulus) continue;
      uint32_t* words = new uint32_t[size_t(m.words)];
      read_exactly(words, 4 * size_t(m.words));
      m.input = words;
    } else if (chosen && !KERNEL_ATOMIC) {
      m.pages = static_cast<Word**>(calloc(size_t(m.words / PAGE_WORDS + 1), sizeof(Word*)));
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

  Thread* threads = new Thread[capacity];
  uint32_t* order = new uint32_t[capacity];
  for (uint32_t i = 0; i < count; i++) {
    uint32_t n = groups[i];
    Triple group = {n % shape.groups.x, n / shape.groups.x % shape.groups.y, n / shape.groups.x / shape.groups.y};
    run_threads_of(group, n, threads, order);
  }

  for (int i = COUNT_INPUTS; i < COUNT_BUFFERS; i++) {
    const Memory& m = BUFFERS[i];
    if (chosen) {
      write_sparse(m);
      continue;
    }
    uint32_t* words = new uint32_t[size_t(m.words)];
    for (int64_t k = 0; k < m.words; k++) {
      if (m.shadow[k].writer.by == NO_THREAD) {
        violation(Site{nullptr, 0}, "no thread writes output %s[%lld] (of %lld words)", m.name, (long long)k, (long long)m.words);
      }
      words[k] = m.shadow[k].value;
    }
    write_exactly(words, 4 * size_t(m.words));
    delete[] words;
  }
  fflush(stdout);
  _exit(0);
}
