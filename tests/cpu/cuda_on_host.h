// Runs CUDA C++ on one host thread, for tests: every device thread is a fiber that runs until it waits.
// Blocks of a cluster, or of a cooperative grid, run together; others one after the other. Fibers are
// resumed in an order drawn from a seed, and some rest, so that a missing barrier shows as a wrong result. Copies in the
// background take place at once or at the wait, as the seed has it. No two threads of a launch may store to the
// same byte of global memory: `stored_twice` counts those that did. This file stands in for cuda/asm.cuh.
#include <cmath>
#include <csetjmp>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <sys/mman.h>
#include <ucontext.h>
#include <unordered_map>
#include <utility>
#include <vector>

#define KW_DEVICE inline
#define __global__
#define __device__
#define __forceinline__ inline
#define __launch_bounds__(...)

struct uint2 { unsigned x, y; };
struct uint4 { unsigned x, y, z, w; };
struct Place { unsigned x = 0; };

struct Barrier {
  int members = 0, arrived = 0, turn = 0;
  bool rests = false;
  void wait();
};
struct Cluster { Barrier barrier; };
struct Shared { const char* name; char* at; size_t bytes; };
struct Block {
  unsigned index = 0, rank = 0;
  bool rests = false;
  std::vector<Shared> shared;
  Barrier barrier;
  std::vector<Barrier> warps;
  std::vector<unsigned> lanes;
  Cluster* cluster = nullptr;
  std::vector<Block>* all = nullptr;
  size_t dynamic = 0;
};
struct Copy { void* to; const void* from; int bytes; };
struct Fiber {
  ucontext_t context;
  jmp_buf at;
  bool started = false, done = false;
  Place thread;
  Block* block = nullptr;
  std::vector<std::vector<Copy>> copies{1};
  char* stack = nullptr;
};

static Fiber* now;
static jmp_buf scheduler;
static long steps_left;
static const size_t kStack = 256 * 1024;

#define threadIdx (now->thread)
#define blockIdx (Place{now->block->index})
static Place gridDim;

static void yield() {
  if (--steps_left < 0) { std::fprintf(stderr, "device threads wait for ever\n"); std::abort(); }
  if (_setjmp(now->at) == 0) _longjmp(scheduler, 1);
}
void Barrier::wait() {
  int mine = turn;
  if (++arrived == members) { arrived = 0; ++turn; }
  while (turn == mine) yield();
}

static Shared* shared_of(Block& block, const char* name) {
  for (Shared& shared : block.shared)
    if (std::strcmp(shared.name, name) == 0) return &shared;
  return nullptr;
}
static char* shared_memory(const char* name, size_t bytes) {
  Block& block = *now->block;
  if (shared_of(block, name) == nullptr) {
    char* at = static_cast<char*>(std::aligned_alloc(16, (bytes + 15) / 16 * 16));
    std::memset(at, 0xff, bytes);
    block.shared.push_back({name, at, bytes});
  }
  return shared_of(block, name)->at;
}
static char* dynamic_shared_memory() { return shared_memory("dynamic", now->block->dynamic); }

inline void __syncthreads() { now->block->barrier.wait(); }
inline void __threadfence() {}
inline unsigned __shfl_sync(unsigned, unsigned value, int from) {
  Block& block = *now->block;
  unsigned lane = threadIdx.x, first = lane & ~31u;
  block.lanes[lane] = value;
  block.warps[lane / 32].wait();
  unsigned got = block.lanes[first + (from & 31)];
  block.warps[lane / 32].wait();
  return got;
}
inline unsigned atomicAdd(unsigned* p, unsigned x) { unsigned old = *p; *p += x; return old; }
// Who stored to a byte in this launch; a thread may store to its own once more.
static std::unordered_map<const char*, unsigned long long> owners;
static long twice;
extern "C" long stored_twice() { return twice; }
inline unsigned long long global_thread() { return now->block->index * 4096ULL + threadIdx.x; }
template <class T> T& stored_at(T& place) {
  const char* first = reinterpret_cast<const char*>(&place);
  for (const char* byte = first; byte < first + sizeof(T); ++byte) {
    auto [owner, fresh] = owners.try_emplace(byte, global_thread());
    twice += !fresh && owner->second != global_thread();
  }
  return place;
}
template <class T> T __ldg(const T* p) { return *p; }
template <class T> T __ldcs(const T* p) { return *p; }
template <class T> T __ldcg(const T* p) { return *p; }
template <class T> void __stcs(T* p, T x) { stored_at(*p) = x; }
template <class To, class From> To same_bits(From x) { To y; std::memcpy(&y, &x, sizeof y); return y; }
inline float __uint_as_float(unsigned x) { return same_bits<float>(x); }
inline float __int_as_float(int x) { return same_bits<float>(x); }
inline double __longlong_as_double(long long x) { return same_bits<double>(x); }

inline float kw_half_value(unsigned short bits) { return static_cast<float>(same_bits<_Float16>(bits)); }
inline unsigned short kw_half_bits(float x) { return same_bits<unsigned short>(static_cast<_Float16>(x)); }
inline unsigned short kw_half_bits(double x) { return same_bits<unsigned short>(static_cast<_Float16>(x)); }
inline unsigned short kw_bf16_bits(float x) {
  unsigned bits = same_bits<unsigned>(x);
  if (x != x) return 0x7fff;
  return static_cast<unsigned short>((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
}
template <class W> W kw_read_past_l1(const W* p) { return *p; }
static size_t drawn(unsigned long long& random, size_t below) {
  random = random * 6364136223846793005ULL + 1442695040888963407ULL;
  return (random >> 33) % below;
}
static unsigned long long copy_random;
template <int Bytes> void kw_copy_bytes_async(void* to, const void* from) {
  if (drawn(copy_random, 2)) std::memcpy(to, from, Bytes);
  else now->copies.back().push_back({to, from, Bytes});
}
inline void kw_copy_commit() { now->copies.emplace_back(); }
template <int Pending> void kw_copy_wait() {
  auto& groups = now->copies;
  while (groups.size() > Pending + 1) {
    for (const Copy& copy : groups.front()) std::memcpy(copy.to, copy.from, copy.bytes);
    groups.erase(groups.begin());
  }
}
inline unsigned kw_cluster_rank() { return now->block->rank; }
inline void kw_cluster_barrier() { now->block->cluster->barrier.wait(); }
inline void kw_cluster_write(unsigned* at, unsigned rank, unsigned word) {
  Block& block = *now->block;
  Block& other = (*block.all)[rank];
  for (Shared& shared : block.shared) {
    long offset = reinterpret_cast<char*>(at) - shared.at;
    if (offset < 0 || offset >= static_cast<long>(shared.bytes)) continue;
    Shared* there = shared_of(other, shared.name);
    if (there == nullptr) { std::fprintf(stderr, "write to a block that has not started\n"); std::abort(); }
    std::memcpy(there->at + offset, &word, 4);
    return;
  }
  std::fprintf(stderr, "write outside shared memory\n");
  std::abort();
}
inline void kw_send(unsigned long long* to, unsigned long long word) { *to = word; }
inline unsigned long long kw_receive(const unsigned long long* from) { yield(); return *from; }

// Launching ------------------------------------------------------------------------------------

struct Launch {
  unsigned grid, threads, together, clusters, shared;
  unsigned long long seed;
};
template <class... A, size_t... I>
static void call(void (*kernel)(A...), void** args, std::index_sequence<I...>) {
  kernel(*static_cast<A*>(args[I])...);
}
static void (*body)(void**);
static void** arguments;
static void entry() {
  body(arguments);
  now->done = true;
  _longjmp(scheduler, 1);
}
static void run_together(const Launch& launch, unsigned first, unsigned count, unsigned long long& random) {
  Cluster cluster;
  std::vector<Block> blocks(count);
  cluster.barrier.members = static_cast<int>(count * launch.threads);
  std::vector<Fiber> fibers(count * launch.threads);
  for (unsigned b = 0; b < count; ++b) {
    Block& block = blocks[b];
    block.index = first + b;
    block.rank = b;
    block.barrier.members = static_cast<int>(launch.threads);
    block.warps.resize(launch.threads / 32);
    for (Barrier& warp : block.warps) warp.members = 32;
    block.lanes.resize(launch.threads);
    block.cluster = &cluster;
    block.all = &blocks;
    block.dynamic = launch.shared;
    for (unsigned t = 0; t < launch.threads; ++t) {
      Fiber& fiber = fibers[b * launch.threads + t];
      fiber.thread.x = t;
      fiber.block = &block;
    }
  }
  char* stacks = static_cast<char*>(mmap(nullptr, kStack * fibers.size(), PROT_READ | PROT_WRITE,
                                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
  for (size_t f = 0; f < fibers.size(); ++f) fibers[f].stack = stacks + f * kStack;
  std::vector<Fiber*> running;
  for (Fiber& fiber : fibers) running.push_back(&fiber);
  while (!running.empty()) {
    for (size_t at = running.size(); at > 1; --at) std::swap(running[at - 1], running[drawn(random, at)]);
    // Some blocks and some warps rest in a round, so that they drift apart.
    for (Block& block : blocks) {
      block.rests = count > 1 && drawn(random, 2) == 0;
      for (Barrier& warp : block.warps) warp.rests = drawn(random, 4) == 0;
    }
    for (size_t at = 0; at < running.size(); ++at) {
      now = running[at];
      if (now->block->rests || now->block->warps[now->thread.x / 32].rests) continue;
      if (_setjmp(scheduler) == 0) {
        if (now->started) _longjmp(now->at, 1);
        now->started = true;
        getcontext(&now->context);
        now->context.uc_stack.ss_sp = now->stack;
        now->context.uc_stack.ss_size = kStack;
        now->context.uc_link = nullptr;
        makecontext(&now->context, entry, 0);
        setcontext(&now->context);
      }
    }
    size_t left = 0;
    for (Fiber* fiber : running)
      if (!fiber->done) running[left++] = fiber;
    running.resize(left);
  }
  for (Block& block : blocks)
    for (Shared& shared : block.shared) std::free(shared.at);
  munmap(stacks, kStack * fibers.size());
}
static void launch_all(const Launch& launch, void (*kernel)(void**), void** args) {
  unsigned long long random = launch.seed * 2 + 1;
  copy_random = launch.seed;
  body = kernel;
  arguments = args;
  gridDim.x = launch.grid;
  steps_left = 200000000;
  owners.clear();
  // Blocks that nothing orders run in any order.
  std::vector<unsigned> firsts;
  for (unsigned first = 0; first < launch.grid; first += launch.together) firsts.push_back(first);
  for (size_t at = firsts.size(); at > 1; --at) std::swap(firsts[at - 1], firsts[drawn(random, at)]);
  for (unsigned first : firsts) run_together(launch, first, launch.together, random);
}
#define KW_HOST_ENTRY(name)                                                                        \
  extern "C" void run_##name(const Launch* launch, void** args) {                                  \
    launch_all(*launch, [](void** a) { call(&name, a, std::make_index_sequence<count_of(&name)>()); }, args); \
  }
template <class... A> constexpr size_t count_of(void (*)(A...)) { return sizeof...(A); }
