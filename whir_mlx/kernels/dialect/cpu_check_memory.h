// Check build of the CPU target, part 3: memory. Every access to a buffer checks bounds, that a word read was written, and
// that no other thread touched the word without a barrier between (one of the two a write).
// Constant and input buffers, output buffers, threadgroup arrays and a thread's own arrays are types that do not convert
// into each other, as Metal's address spaces do not.

// One access: by whom, and in which line.
struct Access {
  uint32_t by = NO_THREAD;
  uint32_t epoch = 0;
  Site at = {nullptr, 0};
};
// A word that can be written. Two readers are enough: whoever writes next differs from one of them.
struct Word {
  uint32_t value = 0xdeadbeefu;
  Access writer, readers[2];
};
enum Space { INPUT, OUTPUT, THREADGROUP };
struct Memory {
  const char* name;
  Space space;
  int64_t words;
  const uint32_t* input;
  Word* shadow;
  // Of an array too large to be there: an input's words by a formula, an output's in pages made at their first use.
  uint32_t modulus, salt;
  Word** pages;
};
static const int64_t PAGE_WORDS = 1024;

// Word `at` of an input that is not there.
static inline uint32_t formula_word(const Memory& m, int64_t at) {
  return (uint32_t(at) * 2654435761u + m.salt) % m.modulus;
}
static inline Word& word_at(const Memory& m, int64_t at) {
  if (m.shadow) return m.shadow[at];
  Word*& page = m.pages[at / PAGE_WORDS];
  if (!page) page = new Word[PAGE_WORDS];
  return page[at % PAGE_WORDS];
}
// Barriers passed by the group that runs: all of them order threadgroup memory, GROUP_BARRIER_DEVICE alone device memory, and
// that for the threads of the group only.
static uint32_t barrier_epoch = 0, device_epoch = 0;

// An index together with the line that it is used in.
struct Index {
  int64_t value;
  Site at;
  template <typename T, typename = typename std::enable_if<std::is_integral<T>::value>::type>
  CHECK_INLINE Index(T v, const char* file = __builtin_FILE(), int line = __builtin_LINE()) : value(int64_t(v)), at{file, line} {}
  CHECK_INLINE Index(uint v, const char* file = __builtin_FILE(), int line = __builtin_LINE()) : value(v.get_exact(Site{file, line})), at{file, line} {}
  // `scale` times this index and `k`, used in the same line.
  CHECK_INLINE Index times(int scale, int k) const {
    Index index = *this;
    index.value = index.value * scale + k;
    // The other targets compute it with 32 bits.
    if (index.value > 0xffffffffll) violation(at, "an index of 32 bits would wrap: %lld", (long long)index.value);
    return index;
  }
};

CHECK_INLINE int64_t check_bounds(const Memory& m, int64_t offset, Index i, const char* does) {
  int64_t at = offset + i.value;
  last_site = i.at;
  if (at < 0 || at >= m.words) {
    violation(i.at, "%s %s[%lld], which has %lld words", does, m.name, (long long)at, (long long)m.words);
  }
  return at;
}

// Whether the thread that runs may not touch what `other` touched: another thread's, with no barrier between.
CHECK_INLINE bool unordered(const Memory& m, const Access& other, uint32_t me, uint32_t epoch) {
  if (other.by == NO_THREAD || other.by == me) return false;
  if (other.epoch == epoch) return true;
  const uint32_t size = shape.group_size.x * shape.group_size.y * shape.group_size.z;
  return m.space == OUTPUT && other.by / size != me / size;
}

__attribute__((noinline, cold)) static void race(const Memory& m, int64_t at, Site site, const char* does, const Access& other,
                                                 const char* did) {
  uint32_t by = other.by;
  if (m.space == THREADGROUP) {
    uint32_t size = shape.group_size.x * shape.group_size.y * shape.group_size.z;
    by += current.number / size * size;
  }
  violation(site, "race: %s %s[%lld], which %s %s in %s:%d, with no barrier between%s", does, m.name, (long long)at,
            thread_name(by).text, did, other.at.file, other.at.line,
            m.space == OUTPUT ? " (of device memory, within one group)" : "");
}

static void lock_step_point();  // cpu_check_group.h

static inline uint load_word(const Memory& m, int64_t offset, Index i) {
  if (m.space != INPUT) lock_step_point();
  int64_t at = check_bounds(m, offset, i, "reads");
  if (m.space == INPUT) return uint(m.input ? m.input[at] : formula_word(m, at));
  Word& word = word_at(m, at);
  uint32_t me = m.space == OUTPUT ? current.number : current.local_number;
  uint32_t epoch = m.space == OUTPUT ? device_epoch : barrier_epoch;
  if (word.writer.by == NO_THREAD) violation(i.at, "reads %s[%lld] before anything was written there", m.name, (long long)at);
  if (unordered(m, word.writer, me, epoch)) race(m, at, i.at, "reads", word.writer, "wrote");
  Access& first = word.readers[0];
  if (first.by == NO_THREAD || first.epoch != epoch || first.by == me) {
    if (first.epoch != epoch) word.readers[1].by = NO_THREAD;
    first = Access{me, epoch, i.at};
  } else {
    word.readers[1] = Access{me, epoch, i.at};
  }
  return uint(word.value);
}

static inline void store_word(const Memory& m, int64_t offset, Index i, uint value) {
  lock_step_point();
  int64_t at = check_bounds(m, offset, i, "writes");
  if (!value.known) violation(i.at, "writes a word that was never set to %s[%lld]", m.name, (long long)at);
  Word& word = word_at(m, at);
  uint32_t me = m.space == OUTPUT ? current.number : current.local_number;
  uint32_t epoch = m.space == OUTPUT ? device_epoch : barrier_epoch;
  if (unordered(m, word.writer, me, epoch)) race(m, at, i.at, "writes", word.writer, "wrote");
  for (const Access& reader : word.readers) {
    if (unordered(m, reader, me, epoch)) race(m, at, i.at, "writes", reader, "read");
  }
  word.writer = Access{me, epoch, i.at};
  word.value = value.word;
}

// `const device uint*` and `const constant uint*`: reading only.
struct InputBuffer {
  const Memory* memory;
  int64_t offset;
  explicit InputBuffer(const Memory* m, int64_t o = 0) : memory(m), offset(o) {}
  CHECK_INLINE uint operator[](Index i) const { return load_word(*memory, offset, i); }
  InputBuffer operator+(Index n) const { return InputBuffer(memory, offset + n.value); }
};

// What `p[i]` of writable memory gives: assign to store, convert to load.
struct Reference {
  const Memory* memory;
  int64_t offset;
  Index index;
  CHECK_INLINE operator uint() const { return load_word(*memory, offset, index); }
  CHECK_INLINE void operator=(uint value) const { store_word(*memory, offset, index, value); }
  CHECK_INLINE void operator=(const Reference& other) const { *this = uint(other); }
};
template <Space SPACE>
struct WritableBuffer {
  const Memory* memory;
  int64_t offset;
  explicit WritableBuffer(const Memory* m, int64_t o = 0) : memory(m), offset(o) {}
  CHECK_INLINE Reference operator[](Index i) const { return Reference{memory, offset, i}; }
  WritableBuffer operator+(Index n) const { return WritableBuffer(memory, offset + n.value); }
};
typedef WritableBuffer<OUTPUT> OutputBuffer;
typedef WritableBuffer<THREADGROUP> ThreadgroupBuffer;

// `device atomic_uint*`, 0 before the launch: nothing but the atomic words below reads or writes it.
struct AtomicBuffer {
  const Memory* memory;
  int64_t offset;
  explicit AtomicBuffer(const Memory* m, int64_t o = 0) : memory(m), offset(o) {}
  AtomicBuffer operator+(Index n) const { return AtomicBuffer(memory, offset + n.value); }
};
static void atomic_max(AtomicBuffer atomic, uint value, Site site) {
  lock_step_point();
  Word& word = atomic.memory->shadow[check_bounds(*atomic.memory, atomic.offset, Index(0, site.file, site.line), "raises")];
  if (!value.known) violation(site, "raises %s to a word that was never set", atomic.memory->name);
  if (value.word > word.value) word.value = value.word;
}
// Relaxed order lets a thread read an older value than the last, if it saw none newer itself. Where threads run from start
// to end (no cooperation, no lock-step), half of the reads do so.
static uint atomic_read(AtomicBuffer atomic, Site site) {
  lock_step_point();
  static uint32_t reader = NO_THREAD, seen = 0;
  Word& word = atomic.memory->shadow[check_bounds(*atomic.memory, atomic.offset, Index(0, site.file, site.line), "reads")];
  if (shape.cooperative || shape.lock_step || atomic.memory->words > 1) return uint(word.value);
  if (reader != current.number) seen = 0;
  reader = current.number;
  if (random_word() & 1) seen = word.value;
  return uint(seen);
}
#define ATOMIC_MAX_IF(condition, atomic, value) \
  if (condition) atomic_max(atomic, value, Site{__FILE__, __LINE__})
#define ATOMIC_MAX_AT_IF(condition, atomic, index, value) ATOMIC_MAX_IF(condition, (atomic) + (index), value)
#define ATOMIC_READ(atomic) atomic_read(atomic, Site{__FILE__, __LINE__})

template <int64_t SIZE>
struct ConstantTable {
  uint32_t words[SIZE];
  CHECK_INLINE uint operator[](Index i) const {
    last_site = i.at;
    if (i.value < 0 || i.value >= SIZE) {
      violation(i.at, "reads word %lld of a constant table of %lld", (long long)i.value, (long long)SIZE);
    }
    return uint(words[i.value]);
  }
};
#define CONSTANT_ARRAY(name, size) static const ConstantTable<size> name

template <typename P>
static inline Quad load_quad(P p, Index i) {
  return Quad{p[i.times(4, 0)], p[i.times(4, 1)], p[i.times(4, 2)], p[i.times(4, 3)]};
}
template <typename P>
static inline void store_quad(P p, Index i, Quad q) {
  p[i.times(4, 0)] = q.x;
  p[i.times(4, 1)] = q.y;
  p[i.times(4, 2)] = q.z;
  p[i.times(4, 3)] = q.w;
}
// Eight consecutive words of a thread.
template <typename P>
static inline void load_words_8(uint* words, P p, Index i) {
  for (int k = 0; k < 8; k++) words[k] = p[i.times(1, k)];
}
template <typename P>
static inline void store_words_8(P p, Index i, const uint* words) {
  for (int k = 0; k < 8; k++) p[i.times(1, k)] = words[k];
}
