// Check build of the CPU target, part 1: which thread runs, and how a violation is reported.
// The text of a kernel runs one thread at a time in a program of its own, so a report ends the program.
#if defined(__APPLE__) && !defined(_XOPEN_SOURCE)
#define _XOPEN_SOURCE 700  // ucontext
#endif
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>
#include <unistd.h>

#include <type_traits>

#define CHECK_INLINE inline

// A place in a kernel text. Default arguments `__builtin_FILE()`, `__builtin_LINE()` are those of the caller.
struct Site {
  const char* file;
  int line;
};

struct Triple {
  uint32_t x, y, z;
};

// The thread that runs now.
struct Thread {
  Triple grid, local, group;
  uint32_t number;         // over all groups
  uint32_t local_number;   // in its group
  uint32_t simd_lane;
};

struct LaunchShape {
  Triple grid, group_size, groups;
  bool grouped;            // the grid was given in groups
  bool cooperative;        // groups run together (barriers, SIMD functions)
  bool round_up;           // run the threads that fill the last groups, as CUDA does
  bool lock_step;          // the threads of a SIMD group go together (cpu_check_group.h)
  uint32_t simd_width;
  int reduce_width;        // what the wrappers take it to be
  uint64_t seed;
};

static const int VIOLATION_EXIT = 77;
static const uint32_t NO_THREAD = 0xffffffffu;
static LaunchShape shape;
static Thread current;
static bool in_kernel = false;
static Site last_site = {nullptr, 0};
extern const char* const KERNEL_NAME;

// Where a thread with this number stands, for reports about another thread than the one that runs.
struct ThreadName {
  char text[96];
};
static ThreadName thread_name(Triple grid, Triple group) {
  ThreadName name;
  if (shape.cooperative) {
    snprintf(name.text, sizeof name.text, "thread (%u, %u, %u) of group (%u, %u, %u)", grid.x % shape.group_size.x,
             grid.y % shape.group_size.y, grid.z % shape.group_size.z, group.x, group.y, group.z);
  } else {
    snprintf(name.text, sizeof name.text, "thread (%u, %u, %u)", grid.x, grid.y, grid.z);
  }
  return name;
}
static ThreadName thread_name(uint32_t number) {
  uint32_t size = shape.group_size.x * shape.group_size.y * shape.group_size.z;
  uint32_t group = number / size, local = number % size;
  Triple g = {group % shape.groups.x, group / shape.groups.x % shape.groups.y, group / shape.groups.x / shape.groups.y};
  Triple l = {local % shape.group_size.x, local / shape.group_size.x % shape.group_size.y,
              local / shape.group_size.x / shape.group_size.y};
  return thread_name(Triple{g.x * shape.group_size.x + l.x, g.y * shape.group_size.y + l.y, g.z * shape.group_size.z + l.z}, g);
}

static void print_place(Site at) {
  fprintf(stderr, "kernel %s", KERNEL_NAME);
  if (in_kernel) fprintf(stderr, ", %s", thread_name(current.grid, current.group).text);
  if (at.file) {
    fprintf(stderr, ", %s:%d", at.file, at.line);
  } else if (in_kernel && last_site.file) {
    fprintf(stderr, ", after %s:%d", last_site.file, last_site.line);
  }
  fprintf(stderr, ": ");
}

[[noreturn]] __attribute__((format(printf, 2, 3), noinline, cold)) static void violation(Site at, const char* format, ...) {
  print_place(at);
  va_list arguments;
  va_start(arguments, format);
  vfprintf(stderr, format, arguments);
  va_end(arguments);
  fprintf(stderr, "\n");
  _exit(VIOLATION_EXIT);
}

// The sanitizers tell the line and the fault, not the thread.
#if defined(__SANITIZE_ADDRESS__)
extern "C" void __asan_on_error() { print_place(Site{nullptr, 0}); }
#endif
extern "C" __attribute__((visibility("default"))) void __ubsan_on_report() { print_place(Site{nullptr, 0}); }
extern "C" const char* __asan_default_options() { return "detect_leaks=0:exitcode=77:detect_stack_use_after_return=0"; }

// splitmix64, for the orders of groups and threads.
static uint64_t random_word() {
  uint64_t z = shape.seed += 0x9e3779b97f4a7c15u;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}
static void permute(uint32_t* order, uint32_t count) {
  for (uint32_t i = count; i > 1; i--) {
    uint32_t j = uint32_t(random_word() % i), kept = order[i - 1];
    order[i - 1] = order[j];
    order[j] = kept;
  }
}
