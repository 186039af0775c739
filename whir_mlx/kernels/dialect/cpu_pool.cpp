// The thread pool of the CPU target: one per process, workers kept between launches.
// pool_run(items, slice, launch, threads) calls slice(launch, first, last) over [0, items(launch)) from up to `threads`
// threads, the caller among them, and returns when all is done. It never waits for a worker that has taken nothing, so a
// busy machine costs no more than its share. Launches from several threads take turns. A forked child starts anew.
// pool_run_all(steps, count) does so step by step.
#include <unistd.h>

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <thread>
#include <vector>

#if defined(__x86_64__)
#include <immintrin.h>
#define RELAX() _mm_pause()
#else
#define RELAX() std::this_thread::yield()
#endif

namespace {
typedef void (*Slice)(const void*, int64_t, int64_t);

struct Pool {
  std::mutex turn, lock;
  std::condition_variable wake;
  std::vector<std::thread> workers;
  // Number of the current launch, and its next item below: one word, so that a worker that comes late cannot take an item
  // of a launch that it has not read. All ones below: closed, nothing to take.
  std::atomic<uint64_t> next{0};
  std::atomic<uint32_t> round{0};
  std::atomic<int64_t> done{0};
  Slice slice = nullptr;
  const void* launch = nullptr;
  int64_t count = 0, chunk = 1;
  int wanted = 0;
  pid_t owner = getpid();

  // Takes chunks of launch `mine` until none is left.
  void work(uint32_t mine, Slice f, const void* l, int64_t n, int64_t size) {
    uint64_t ticket = next.load(std::memory_order_acquire);
    for (;;) {
      int64_t first = int64_t(ticket & 0xffffffffu);
      if (uint32_t(ticket >> 32) != mine || first >= n) return;
      if (!next.compare_exchange_weak(ticket, ticket + uint64_t(size), std::memory_order_acq_rel)) continue;
      int64_t last = first + size < n ? first + size : n;
      f(l, first, last);
      done.fetch_add(last - first, std::memory_order_release);
      ticket = next.load(std::memory_order_acquire);
    }
  }
  void worker(int number, uint32_t seen) {
    for (;;) {
      // Launches follow each other within microseconds during a proof: look for the next one before sleeping.
      for (int spin = 0; spin < 4000 && round.load(std::memory_order_acquire) == seen; spin++) RELAX();
      if (round.load(std::memory_order_acquire) == seen) {
        std::unique_lock<std::mutex> hold(lock);
        wake.wait(hold, [&] { return round.load(std::memory_order_acquire) != seen; });
      }
      seen = round.load(std::memory_order_acquire);
      // These may be those of a later launch by now; then `next` says so.
      Slice f = slice;
      const void* l = launch;
      int64_t n = count, size = chunk;
      if (number < wanted) work(seen, f, l, n, size);
    }
  }
  void run(Slice f, const void* l, int64_t n, int threads) {
    std::lock_guard<std::mutex> mine(turn);
    uint32_t number = round.load() + 1;
    next.store(uint64_t(number) << 32 | 0xffffffffu, std::memory_order_seq_cst);
    slice = f;
    launch = l;
    count = n;
    // Eight chunks a thread even out uneven cores without contending for the counter.
    chunk = n / (int64_t(threads) * 8);
    if (chunk < 1) chunk = 1;
    wanted = threads - 1;
    done.store(0);
    while (int(workers.size()) < wanted) {
      int index = int(workers.size());
      uint32_t seen = number - 1;
      workers.emplace_back([this, index, seen] { worker(index, seen); });
    }
    int64_t size = chunk;
    next.store(uint64_t(number) << 32, std::memory_order_seq_cst);
    {
      std::lock_guard<std::mutex> hold(lock);
      round.store(number, std::memory_order_release);
    }
    wake.notify_all();
    work(number, f, l, n, size);
    while (done.load(std::memory_order_acquire) < n) RELAX();
    next.store(uint64_t(number) << 32 | 0xffffffffu, std::memory_order_seq_cst);
  }
};

std::atomic<Pool*> current{nullptr};

Pool* pool() {
  static std::mutex making;
  Pool* p = current.load(std::memory_order_acquire);
  if (p && p->owner == getpid()) return p;
  std::lock_guard<std::mutex> hold(making);
  p = current.load();
  // Never destroyed: its threads may outlive every destructor; a child's copy has no threads and is left behind.
  if (!p || p->owner != getpid()) current.store(p = new Pool);
  return p;
}
}  // namespace

extern "C" void pool_run(int64_t (*items)(const void*), Slice slice, const void* launch, int threads) {
  int64_t count = items(launch);
  if (count <= 0) return;
  if (threads > count) threads = int(count);
  if (threads <= 1) {
    slice(launch, 0, count);
    return;
  }
  pool()->run(slice, launch, count, threads);
}

struct Step {
  int64_t (*items)(const void*);
  Slice slice;
  const void* launch;
  int64_t threads;
};

extern "C" void pool_run_all(const Step* steps, int64_t count) {
  for (int64_t k = 0; k < count; k++) pool_run(steps[k].items, steps[k].slice, steps[k].launch, int(steps[k].threads));
}
