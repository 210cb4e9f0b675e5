// What a reduction keeps while it folds, and how threads, blocks and clusters bring theirs together.
// A state adds N values by a tree, so that a thread's chain is N times shorter; it merges with another.
// All merges run in an order fixed by position: the same input gives the same bits.
template <class T> struct kw_limits;
#define KW_LIMITS(type, low, high)            \
  template <> struct kw_limits<type> {        \
    static KW_DEVICE type least() { return low; }    \
    static KW_DEVICE type greatest() { return high; } \
  };
KW_LIMITS(float, -__int_as_float(0x7f800000), __int_as_float(0x7f800000))
KW_LIMITS(double, -__longlong_as_double(0x7ff0000000000000LL), __longlong_as_double(0x7ff0000000000000LL))
KW_LIMITS(long long, (-9223372036854775807LL - 1), 9223372036854775807LL)
KW_LIMITS(int, (-2147483647 - 1), 2147483647)
KW_LIMITS(short, -32768, 32767)
KW_LIMITS(signed char, -128, 127)
KW_LIMITS(unsigned char, 0, 255)
KW_LIMITS(bool, false, true)

struct kw_plus { template <class T> static KW_DEVICE T of(T x, T y) { return T(x + y); } };
struct kw_times { template <class T> static KW_DEVICE T of(T x, T y) { return T(x * y); } };
struct kw_larger { template <class T> static KW_DEVICE T of(T x, T y) { return kw_maximum(x, y); } };
struct kw_smaller { template <class T> static KW_DEVICE T of(T x, T y) { return kw_minimum(x, y); } };

template <class Op, int N> struct kw_tree {
  template <class T> static KW_DEVICE T of(const T* x) {
    return Op::of(kw_tree<Op, N / 2>::of(x), kw_tree<Op, N - N / 2>::of(x + N / 2));
  }
};
template <class Op> struct kw_tree<Op, 1> {
  template <class T> static KW_DEVICE T of(const T* x) { return x[0]; }
};

#define KW_FOLD(name, op, empty)                                                                   \
  template <class T> struct alignas(sizeof(T) < 4 ? 4 : sizeof(T)) name {                          \
    T value;                                                                                       \
    __device__ __forceinline__ void clear() { value = empty; }                                     \
    template <int N> __device__ __forceinline__ void add(const T* x) {                             \
      value = op::of(value, kw_tree<op, N>::of(x));                                                \
    }                                                                                              \
    __device__ __forceinline__ void merge(const name& other) { value = op::of(value, other.value); } \
  };
KW_FOLD(kw_sum, kw_plus, T(0))
KW_FOLD(kw_prod, kw_times, T(1))
KW_FOLD(kw_max, kw_larger, kw_limits<T>::least())
KW_FOLD(kw_min, kw_smaller, kw_limits<T>::greatest())

// A sum that keeps what each addition to it rounds away (TwoSum of Knuth, The Art of Computer Programming,
// vol. 2, section 4.2.2): a chain of thousands, one value in all of them, is as good as a short one. What is
// lost is no number where the sum is not finite, and then counts for nothing.
template <class T> struct kw_long_sum {
  T value, lost;
  __device__ __forceinline__ void clear() { value = lost = T(0); }
  __device__ __forceinline__ void take(T x) {
    T sum = value + x;
    T part = sum - value;
    lost += (value - (sum - part)) + (x - part);
    value = sum;
  }
  template <int N> __device__ __forceinline__ void add(const T* x) { take(kw_tree<kw_plus, N>::of(x)); }
  __device__ __forceinline__ void merge(const kw_long_sum& other) {
    take(other.value);
    lost += other.lost;
  }
  __device__ __forceinline__ T total() const { return value - value == T(0) ? value + lost : value; }
};

// Count, mean and sum of squared differences from the mean. N values are folded exactly as two passes
// over them would, then merged by the pairwise update of Chan, Golub and LeVeque (1979).
template <class T> struct kw_moments {
  T count, mean, squares;
  __device__ __forceinline__ void clear() { count = mean = squares = T(0); }
  template <int N> __device__ __forceinline__ void add(const T* x) {
    kw_moments part;
    T d[N];
    part.count = T(N);
    part.mean = kw_tree<kw_plus, N>::of(x) / T(N);
#pragma unroll
    for (int i = 0; i < N; ++i) d[i] = (x[i] - part.mean) * (x[i] - part.mean);
    part.squares = kw_tree<kw_plus, N>::of(d);
    merge(part);
  }
  __device__ __forceinline__ void merge(const kw_moments& other) {
    if (other.count == T(0)) return;
    T total = count + other.count;
    T share = other.count / total;
    T apart = other.mean - mean;
    mean += apart * share;
    squares += other.squares + apart * apart * count * share;
    count = total;
  }
  __device__ __forceinline__ T total() const { return mean * count; }
};

// Maximum, and the sum of exponentials of differences from it.
template <class T> struct kw_softsum {
  T top, scaled;
  __device__ __forceinline__ void clear() { top = kw_limits<T>::least(); scaled = T(0); }
  static KW_DEVICE T base(T x) { return x == kw_limits<T>::least() ? T(0) : x; }
  template <int N> __device__ __forceinline__ void add(const T* x) {
    T d[N];
    T above = kw_maximum(top, kw_tree<kw_larger, N>::of(x));
    T from = base(above);
#pragma unroll
    for (int i = 0; i < N; ++i) d[i] = kw_exp(x[i] - from);
    scaled = scaled * kw_exp(top - from) + kw_tree<kw_plus, N>::of(d);
    top = above;
  }
  __device__ __forceinline__ void merge(const kw_softsum& other) {
    T above = kw_maximum(top, other.top);
    T from = base(above);
    scaled = scaled * kw_exp(top - from) + other.scaled * kw_exp(other.top - from);
    top = above;
  }
  // A row of -inf alone has no such sum: as in torch it is NaN.
  __device__ __forceinline__ T total() const { return top == kw_limits<T>::least() ? top - top : scaled; }
};

template <class S> KW_DEVICE S kw_shuffle(const S& state, int from) {
  unsigned w[sizeof(S) / 4];
  S moved;
  memcpy(w, &state, sizeof(S));
#pragma unroll
  for (int i = 0; i < int(sizeof(S) / 4); ++i) w[i] = __shfl_sync(0xffffffffu, w[i], from);
  memcpy(&moved, w, sizeof(S));
  return moved;
}

// All lanes of a group of `Lanes` (a power of two up to 32) get the group's state. Every lane takes the
// first one's in the end, because a merge may round differently in its two orders.
template <int Lanes, class S> KW_DEVICE S kw_merge_lanes(S state) {
  int lane = threadIdx.x & 31;
#pragma unroll
  for (int apart = Lanes / 2; apart > 0; apart /= 2) state.merge(kw_shuffle(state, lane ^ apart));
  return Lanes > 1 ? kw_shuffle(state, lane & ~(Lanes - 1)) : state;
}

// All threads of a block of `Threads` (32 times a power of two) get the block's state. `slots` holds
// Threads / 32 states; between two uses of the same slots there must be another barrier of the block.
template <int Threads, class S> KW_DEVICE S kw_merge_block(S state, S* slots) {
  state = kw_merge_lanes<32>(state);
  if ((threadIdx.x & 31) == 0) slots[threadIdx.x / 32] = state;
  __syncthreads();
  return kw_merge_lanes<Threads / 32>(slots[(threadIdx.x & 31) % (Threads / 32)]);
}

// All threads of a cluster of `Blocks` (a power of two) get the cluster's state, from a state that all
// threads of a block share. Thread r writes it into block r; `slots` holds `Blocks` states there.
template <int Blocks, class S> KW_DEVICE S kw_merge_cluster(const S& state, S* slots) {
  if (threadIdx.x < Blocks) {
    unsigned w[sizeof(S) / 4];
    memcpy(w, &state, sizeof(S));
    unsigned* at = reinterpret_cast<unsigned*>(slots + kw_cluster_rank());
#pragma unroll
    for (int i = 0; i < int(sizeof(S) / 4); ++i) kw_cluster_write(at + i, threadIdx.x, w[i]);
  }
  kw_cluster_barrier();
  return kw_merge_lanes<Blocks>(slots[(threadIdx.x & 31) % Blocks]);
}

template <class S> KW_DEVICE S kw_read_state(const S* from) {
  unsigned w[sizeof(S) / 4];
  S state;
#pragma unroll
  for (int i = 0; i < int(sizeof(S) / 4); ++i) w[i] = __ldcg(reinterpret_cast<const unsigned*>(from) + i);
  memcpy(&state, w, sizeof(S));
  return state;
}

// All threads of `Blocks` co-resident blocks get their common state, by way of global memory, from a state
// that all threads of a block share. A word travels in one access with `number`, which is new to these
// slots, so nothing else need be ordered: who sees the number has the word. Slots are `Blocks` of them for
// each word of a state; two sets in turn are enough, because a block sends its next message only when it
// has read all of this one. One warp reads: all warps of all blocks at the same lines would queue.
template <int Blocks, class S> KW_DEVICE S kw_merge_grid(const S& state, unsigned long long* slots, int rank,
                                                         unsigned number, S* shared) {
  constexpr int words = sizeof(S) / 4, rounds = (Blocks + 31) / 32;
  if (threadIdx.x < 32) {
    unsigned w[words], got[rounds][words];
    memcpy(w, &state, sizeof(S));
#pragma unroll
    for (int i = 0; i < words; ++i)
      if (threadIdx.x == i) kw_send(slots + i * Blocks + rank, static_cast<unsigned long long>(number) << 32 | w[i]);
    for (bool waits = true; waits;) {
      waits = false;
#pragma unroll
      for (int r = 0; r < rounds; ++r)
#pragma unroll
        for (int i = 0; i < words; ++i)
          if (threadIdx.x + r * 32 < Blocks) {
            unsigned long long word = kw_receive(slots + i * Blocks + r * 32 + threadIdx.x);
            got[r][i] = static_cast<unsigned>(word);
            waits |= static_cast<unsigned>(word >> 32) != number;
          }
    }
    S all, other;
    all.clear();
#pragma unroll
    for (int r = 0; r < rounds; ++r)
      if (threadIdx.x + r * 32 < Blocks) {
        memcpy(&other, got[r], sizeof(S));
        all.merge(other);
      }
    all = kw_merge_lanes<32>(all);
    if (threadIdx.x == 0) *shared = all;
  }
  __syncthreads();
  return *shared;
}

// The state of `parts` partial ones in global memory, in all threads of a block.
template <int Threads, class S> KW_DEVICE S kw_merge_parts(const S* parts_of_row, int parts, S* slots) {
  S all;
  all.clear();
  for (int r = threadIdx.x; r < parts; r += Threads) all.merge(kw_read_state(parts_of_row + r));
  return kw_merge_block<Threads>(all, slots);
}
