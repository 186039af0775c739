// The thread pool of the CPU target: one per process, workers kept between launches.
// pool_run(items, slice, launch, count, threads) calls slice(launch, first, last) over [0, count) from `threads` threads,
// the caller among them, and returns when all is done. Launches from several threads take turns. A forked child starts anew.
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
  std::atomic<uint64_t> round{0};
  std::atomic<int64_t> next{0};
  std::atomic<int> working{0};
  Slice slice = nullptr;
  const void* launch = nullptr;
  int64_t count = 0, chunk = 1;
  int wanted = 0;
  pid_t owner = getpid();

  void work() {
    for (;;) {
      int64_t first = next.fetch_add(chunk, std::memory_order_relaxed);
      if (first >= count) return;
      slice(launch, first, first + chunk < count ? first + chunk : count);
    }
  }
  void worker(int number, uint64_t seen) {
    for (;;) {
      // Launches follow each other within microseconds during a proof: look for the next one before sleeping.
      for (int spin = 0; spin < 2000 && round.load(std::memory_order_acquire) == seen; spin++) RELAX();
      if (round.load(std::memory_order_acquire) == seen) {
        std::unique_lock<std::mutex> hold(lock);
        wake.wait(hold, [&] { return round.load(std::memory_order_acquire) != seen; });
      }
      seen = round.load(std::memory_order_acquire);
      if (number < wanted) work();
      working.fetch_sub(1, std::memory_order_release);
    }
  }
  void run(Slice f, const void* l, int64_t n, int threads) {
    std::lock_guard<std::mutex> mine(turn);
    slice = f;
    launch = l;
    count = n;
    // Four chunks a thread even out uneven cores without contending for the counter.
    chunk = n / (int64_t(threads) * 4);
    if (chunk < 1) chunk = 1;
    next.store(0);
    wanted = threads - 1;
    while (int(workers.size()) < wanted) {
      int number = int(workers.size());
      uint64_t seen = round.load();
      workers.emplace_back([this, number, seen] { worker(number, seen); });
    }
    working.store(int(workers.size()));
    {
      std::lock_guard<std::mutex> hold(lock);
      round.fetch_add(1, std::memory_order_release);
    }
    wake.notify_all();
    work();
    while (working.load(std::memory_order_acquire) > 0) RELAX();
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
