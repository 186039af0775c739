// Check build of the CPU target, part 4: groups. The threads of a group are fibers that run one at a time, in an order drawn
// from the seed; barriers and SIMD functions work anywhere in a text. Threads that part there (some at a barrier, others at
// another or at the end) are reported. Two ways to run a SIMD group:
//   free      each thread runs as far as the next barrier or SIMD function, and a SIMD group may leave the others behind;
//   lock-step all threads of a SIMD group go together, one access of memory that threads share at a time.
#if defined(__SANITIZE_ADDRESS__)
extern "C" void __sanitizer_start_switch_fiber(void** saved, const void* bottom, size_t size);
extern "C" void __sanitizer_finish_switch_fiber(void* saved, const void** old_bottom, size_t* old_size);
extern "C" void __asan_unpoison_memory_region(const volatile void* start, size_t size);
#else
static void __asan_unpoison_memory_region(const volatile void*, size_t) {}
static void __sanitizer_start_switch_fiber(void**, const void*, size_t) {}
static void __sanitizer_finish_switch_fiber(void*, const void**, size_t*) {}
#endif

static const size_t FIBER_STACK = 256 * 1024;
static const uint32_t MAX_GROUP = 1024, MAX_THREADGROUP_BYTES = 32768, MAX_ARRAYS = 8;

enum Wait { READY, AT_BARRIER, AT_SIMD, FINISHED };
struct Fiber {
  ucontext_t context;
  void* sanitizer_state;
  char* stack;
  Thread position;
  Wait wait;
  Site site;              // of the barrier or SIMD function waited at
  bool orders_device;     // the barrier waited at does
  uint32_t operand;       // of simd_shuffle_xor, equal in all lanes
  uint32_t simd_calls, arrays;
  uint shared[2];         // values given to this and the last SIMD function
};
static Fiber* fibers = nullptr;
static Fiber* running = nullptr;
static uint32_t group_threads = 0;
static ucontext_t scheduler_context;
static const void* scheduler_bottom = nullptr;
static size_t scheduler_size = 0;
static void* scheduler_state = nullptr;
static Memory group_arrays[MAX_ARRAYS];
static uint32_t group_array_count = 0;

static void run_thread();  // the kernel's body for `current`

static void wait_here(Wait wait, Site site) {
  Fiber* fiber = running;
  fiber->wait = wait;
  fiber->site = site;
  __sanitizer_start_switch_fiber(wait == FINISHED ? nullptr : &fiber->sanitizer_state, scheduler_bottom, scheduler_size);
  swapcontext(&fiber->context, &scheduler_context);
  __sanitizer_finish_switch_fiber(fiber->sanitizer_state, &scheduler_bottom, &scheduler_size);
}

__attribute__((no_sanitize_address)) static void fiber_main() {
  __sanitizer_finish_switch_fiber(nullptr, &scheduler_bottom, &scheduler_size);
  run_thread();
  wait_here(FINISHED, Site{nullptr, 0});
}

static void switch_to(Fiber* fiber) {
  running = fiber;
  current = fiber->position;
  in_kernel = true;
  __sanitizer_start_switch_fiber(&scheduler_state, fiber->stack, FIBER_STACK);
  swapcontext(&scheduler_context, &fiber->context);
  __sanitizer_finish_switch_fiber(scheduler_state, nullptr, nullptr);
  in_kernel = false;
}

__attribute__((noinline, cold)) static void report_parting(const Fiber& a, const Fiber& b, const char* unit) {
  const char* const at[] = {"runs", "waits at the barrier in", "waits at the SIMD function in", "has finished"};
  current = a.position;
  in_kernel = true;
  ThreadName other = thread_name(b.position.number);
  if (b.wait == FINISHED) {
    violation(a.site, "the threads of a %s part: this one %s this line, %s has finished", unit, at[a.wait], other.text);
  }
  violation(a.site, "the threads of a %s part: this one %s this line, %s %s %s:%d", unit, at[a.wait], other.text,
            at[b.wait], b.site.file, b.site.line);
}

static bool together(const Fiber& a, const Fiber& b) {
  return a.wait == b.wait && a.site.line == b.site.line && (a.site.file == b.site.file || !strcmp(a.site.file, b.site.file));
}

static uint32_t simd_end(uint32_t start) {
  return start + shape.simd_width < group_threads ? start + shape.simd_width : group_threads;
}

// The threads of the SIMD group from `start` on that can run, into `ready`; their number.
static uint32_t ready_threads(uint32_t start, uint32_t* ready) {
  uint32_t count = 0, end = simd_end(start);
  for (uint32_t i = start; i < end; i++) {
    if (fibers[i].wait == READY) ready[count++] = i;
  }
  return count;
}

// No thread of the SIMD group from `start` on can run: let it go on where all have met at a SIMD function.
static bool release_simd_group(uint32_t start) {
  uint32_t end = simd_end(start);
  const Fiber* first = nullptr;
  for (uint32_t i = start; i < end; i++) {
    if (fibers[i].wait == AT_SIMD) first = &fibers[i];
  }
  if (!first) return false;
  for (uint32_t i = start; i < end; i++) {
    if (!together(*first, fibers[i])) report_parting(*first, fibers[i], "SIMD group");
    if (first->operand != fibers[i].operand) {
      violation(first->site, "simd_shuffle_xor with masks %u and %u in one SIMD group", first->operand, fibers[i].operand);
    }
  }
  for (uint32_t i = start; i < end; i++) fibers[i].wait = READY;
  return true;
}

// Every fiber waits at a barrier or has finished: let them go on if they have met. False where all have finished.
static bool release_barrier() {
  const Fiber* first = nullptr;
  for (uint32_t i = 0; i < group_threads; i++) {
    if (fibers[i].wait == AT_BARRIER) first = &fibers[i];
  }
  if (!first) return false;
  for (uint32_t i = 0; i < group_threads; i++) {
    if (!together(*first, fibers[i])) report_parting(*first, fibers[i], "group");
  }
  for (uint32_t i = 0; i < group_threads; i++) fibers[i].wait = READY;
  barrier_epoch++;
  if (first->orders_device) device_epoch++;
  return true;
}

// Run all fibers to their ends.
static void run_fibers() {
  static uint32_t running_groups[MAX_GROUP], ready[MAX_GROUP];
  do {
    uint32_t count = 0;
    for (uint32_t start = 0; start < group_threads; start += shape.simd_width) running_groups[count++] = start;
    uint32_t k = 0, steps = 0;
    while (count > 0) {
      // A SIMD group goes on for a while, sometimes past several SIMD functions, before another has its turn.
      if (steps == 0 || k >= count) {
        k = uint32_t(random_word() % count);
        steps = 1 + uint32_t(random_word() % (shape.lock_step ? 8 : 256));
      }
      uint32_t start = running_groups[k], threads = ready_threads(start, ready);
      steps--;
      if (threads == 0) {
        if (!release_simd_group(start)) running_groups[k] = running_groups[--count];
      } else if (shape.lock_step) {
        permute(ready, threads);
        for (uint32_t i = 0; i < threads; i++) switch_to(&fibers[ready[i]]);
      } else {
        switch_to(&fibers[ready[random_word() % threads]]);
      }
    }
  } while (release_barrier());
}

// In lock-step, a thread stops before each access of memory that others may touch, until its SIMD group is there too.
static void lock_step_point() {
  if (shape.lock_step) wait_here(READY, Site{nullptr, 0});
}

static void group_barrier(Site site, bool orders_device) {
  running->orders_device = orders_device;
  wait_here(AT_BARRIER, site);
}
#define GROUP_BARRIER() group_barrier(Site{__FILE__, __LINE__}, false)
#define GROUP_BARRIER_DEVICE() group_barrier(Site{__FILE__, __LINE__}, true)

// The threads of a SIMD group meet, each giving a value; then each takes that of `lane`.
static uint simd_exchange(uint value, uint32_t lane, uint32_t operand, Site site) {
  uint32_t call = running->simd_calls++ % 2;  // nobody is more than one call ahead of a lane that still reads
  last_site = site;
  running->shared[call] = value;
  running->operand = operand;
  wait_here(AT_SIMD, site);
  uint32_t start = current.local_number - current.simd_lane;
  if (lane >= shape.simd_width) violation(site, "shuffles from lane %u of a SIMD group of %u", lane, shape.simd_width);
  if (start + lane >= group_threads) violation(site, "shuffles from lane %u, which the last SIMD group does not have", lane);
  return fibers[start + lane].shared[call];
}
static uint simd_shuffle(uint value, uint lane, const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
  return simd_exchange(value, lane.get(), 0, Site{file, line});
}
static uint simd_shuffle_xor(uint value, uint mask, const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
  return simd_exchange(value, current.simd_lane ^ mask.get(), mask.get(), Site{file, line});
}
// The value of a SIMD group's first lane, for all of it to branch on.
static uint first_lane(uint value, const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
  return simd_exchange(value, 0, 0, Site{file, line});
}

// The k-th array that a thread declares is the k-th of its group.
static ThreadgroupBuffer threadgroup_array(const char* name, int64_t words, Site site) {
  uint32_t k = running->arrays++;
  if (k == group_array_count) {
    int64_t bytes = 4 * words;
    for (uint32_t i = 0; i < k; i++) bytes += 4 * group_arrays[i].words;
    if (k == MAX_ARRAYS || bytes > MAX_THREADGROUP_BYTES) {
      violation(site, "threadgroup arrays of %lld bytes, more than %u", (long long)bytes, MAX_THREADGROUP_BYTES);
    }
    group_arrays[k] = Memory{name, THREADGROUP, words, nullptr, new Word[size_t(words)]};
    group_array_count++;
  }
  if (k > group_array_count || group_arrays[k].words != words || strcmp(group_arrays[k].name, name)) {
    violation(site, "threads of one group declare different threadgroup arrays");
  }
  return ThreadgroupBuffer(&group_arrays[k]);
}
#define THREADGROUP_ARRAY(name, size) \
  ThreadgroupBuffer name = threadgroup_array(#name, size, Site{__FILE__, __LINE__})

// Run the threads of one group together.
static void run_group(const Thread* threads, uint32_t count) {
  if (!fibers) {
    fibers = new Fiber[MAX_GROUP]();
    for (uint32_t i = 0; i < MAX_GROUP; i++) fibers[i].stack = nullptr;
  }
  group_threads = count;
  group_array_count = 0;
  barrier_epoch = device_epoch = 0;
  for (uint32_t i = 0; i < count; i++) {
    Fiber& fiber = fibers[i];
    if (!fiber.stack) fiber.stack = static_cast<char*>(malloc(FIBER_STACK));
    // The last function of the fiber before never returned: its red zones are still there.
    __asan_unpoison_memory_region(fiber.stack, FIBER_STACK);
    fiber.position = threads[i];
    fiber.wait = READY;
    fiber.operand = fiber.simd_calls = fiber.arrays = 0;
    getcontext(&fiber.context);
    fiber.context.uc_stack.ss_sp = fiber.stack;
    fiber.context.uc_stack.ss_size = FIBER_STACK;
    fiber.context.uc_link = nullptr;
    makecontext(&fiber.context, fiber_main, 0);
    // AddressSanitizer would clear what it knows of this stack at every switch to it.
    fiber.context.uc_stack.ss_sp = nullptr;
  }
  run_fibers();
  for (uint32_t i = 0; i < group_array_count; i++) delete[] group_arrays[i].shadow;
}
