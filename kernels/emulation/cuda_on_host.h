// CUDA C for the host's C++ compiler: the source of a CUDA kernel, after this header and inside an
// anonymous namespace, runs on the host as on a GPU, slowly. For checks without a GPU.
//
//   supported    one-, two- and three-dimensional launches, __shared__ (static, and dynamic as
//                gg_host::dynamic_shared, by which devices/cuda/emulation/cxx_compiler.py replaces
//                `extern __shared__`), barriers, warp functions, atomics, vectors, half and
//                bfloat16, math, bit functions, __trap; mma, ldmatrix, cp.async as in
//                tensor_core_mma.cuh
//   missing      other inline PTX, tensor core functions, textures, cooperative groups, streams of
//                launches from a kernel: `#ifdef GPUGRAPH_ON_HOST` selects other code for the host
//   errors       barriers that not all threads reach, misaligned accesses, __trap: the launch ends
//                with a status and a message. AddressSanitizer finds accesses out of bounds;
//                shared memory begins as NaNs.
#pragma once
#define GPUGRAPH_ON_HOST 1
#include <cstddef>
#ifdef _GLIBCXX_USE_STD_SPEC_FUNCS // C++17's special functions, most of what <cmath> takes to read
#undef _GLIBCXX_USE_STD_SPEC_FUNCS
#endif
#include <cassert>
#include <cfloat>
#include <climits>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <tuple>
#include <type_traits>
#include <utility>

#include "cuda_on_host_fibers.h"
#include "cuda_on_host_races.h"
#include "cuda_on_host_half.h"
#include "cuda_on_host_math.h"
#include "cuda_on_host_matrix.h"

#define __global__
#define __device__
#define __host__
#define __noinline__ __attribute__((noinline))
#define __forceinline__ inline
#define __constant__ static
#define __grid_constant__
#define __launch_bounds__(...)
#define __align__(n) alignas(n)
#if defined(__SANITIZE_ADDRESS__)
#define __shared__ static __attribute__((used))
#else
#define __shared__ static __attribute__((section("gg_shared"), used))
#endif

static constexpr int warpSize = 32;

// -- barriers and warp functions: the line is the caller's

#define GG_LINE int line = __builtin_LINE()

static inline void __syncthreads(GG_LINE) { gg_host::wait("__syncthreads()", line, true, 0); }
static inline void __syncwarp(unsigned mask = ~0u, GG_LINE) {
  gg_host::wait("__syncwarp()", line, false, mask);
}
static inline void __threadfence() {}
static inline void __threadfence_block() {}
static inline void __threadfence_system() {}
static inline void __nanosleep(unsigned) {}
[[noreturn]] static inline void __trap(GG_LINE) {
  gg_host::fail(gg_host::kTrap, "__trap() of line %d", line);
}

namespace gg_host {

template <class T>
static void give(T value) {
  static_assert(sizeof(T) <= 16, "a warp function passes at most 16 bytes");
  memcpy(self().given, &value, sizeof value);
}

// What lane `source` gave; bytes of 0xff where it took no part: on a GPU that is undefined.
template <class T>
static T shown_by(int source) {
  const int first = block.current / kWarp * kWarp;
  T value;
  if (source >= 0 && source < kWarp && (self().group >> source & 1))
    memcpy(&value, block.threads[first + source].shown, sizeof value);
  else
    memset(static_cast<void *>(&value), 255, sizeof value);
  return value;
}

template <class T>
static T exchange(const char *what, int line, unsigned mask, T value, int source, bool stays) {
  give(value);
  wait(what, line, false, mask);
  return stays ? value : shown_by<T>(source);
}

static inline int lane() { return block.current % kWarp; }

static inline unsigned vote(const char *what, int line, unsigned mask, bool predicate) {
  give(int(predicate));
  wait(what, line, false, mask);
  unsigned votes = 0;
  for (int i = 0; i < kWarp; i++)
    if ((self().group >> i & 1) && shown_by<int>(i)) votes |= 1u << i;
  return votes;
}

static inline int count_true(const char *what, int line, int predicate) {
  give(int(predicate != 0));
  wait(what, line, true, 0);
  return block.true_count;
}

template <class T, class F>
static T reduce(const char *what, int line, unsigned mask, T value, F both) {
  give(value);
  wait(what, line, false, mask);
  T all{};
  bool any = false;
  for (int i = 0; i < kWarp; i++)
    if (self().group >> i & 1) all = any ? both(all, shown_by<T>(i)) : shown_by<T>(i), any = true;
  return all;
}

}  // namespace gg_host

template <class T>
static T __shfl_sync(unsigned mask, T value, int source, int width = 32, GG_LINE) {
  const int lane = gg_host::lane(), from = (lane & ~(width - 1)) + (source & (width - 1));
  return gg_host::exchange("__shfl_sync()", line, mask, value, from, false);
}
template <class T>
static T __shfl_xor_sync(unsigned mask, T value, int other, int width = 32, GG_LINE) {
  const int lane = gg_host::lane(), from = lane ^ other;
  const bool stays = from >= (lane & ~(width - 1)) + width;
  return gg_host::exchange("__shfl_xor_sync()", line, mask, value, from, stays);
}
template <class T>
static T __shfl_down_sync(unsigned mask, T value, unsigned by, int width = 32, GG_LINE) {
  const int lane = gg_host::lane(), from = lane + int(by);
  const bool stays = (lane & (width - 1)) + int(by) >= width;
  return gg_host::exchange("__shfl_down_sync()", line, mask, value, from, stays);
}
template <class T>
static T __shfl_up_sync(unsigned mask, T value, unsigned by, int width = 32, GG_LINE) {
  const int lane = gg_host::lane(), from = lane - int(by);
  const bool stays = (lane & (width - 1)) < int(by);
  return gg_host::exchange("__shfl_up_sync()", line, mask, value, from, stays);
}
static inline unsigned __ballot_sync(unsigned mask, int predicate, GG_LINE) {
  return gg_host::vote("__ballot_sync()", line, mask, predicate != 0);
}
static inline int __any_sync(unsigned mask, int predicate, GG_LINE) {
  return gg_host::vote("__any_sync()", line, mask, predicate != 0) != 0;
}
static inline int __all_sync(unsigned mask, int predicate, GG_LINE) {
  return gg_host::vote("__all_sync()", line, mask, predicate != 0) == gg_host::self().group;
}
template <class T>
static unsigned __match_any_sync(unsigned mask, T value, GG_LINE) {
  gg_host::exchange("__match_any_sync()", line, mask, value, 0, true);
  unsigned same = 0;
  for (int i = 0; i < 32; i++)
    if ((gg_host::self().group >> i & 1) && gg_host::shown_by<T>(i) == value) same |= 1u << i;
  return same;
}
static inline unsigned __activemask() { return 1u << gg_host::lane(); }
template <class T>
static T __reduce_add_sync(unsigned mask, T value, GG_LINE) {
  return gg_host::reduce("__reduce_add_sync()", line, mask, value, [](T a, T b) { return a + b; });
}
template <class T>
static T __reduce_max_sync(unsigned mask, T value, GG_LINE) {
  return gg_host::reduce("__reduce_max_sync()", line, mask, value,
                         [](T a, T b) { return a > b ? a : b; });
}
template <class T>
static T __reduce_min_sync(unsigned mask, T value, GG_LINE) {
  return gg_host::reduce("__reduce_min_sync()", line, mask, value,
                         [](T a, T b) { return a < b ? a : b; });
}
static inline int __syncthreads_count(int predicate, GG_LINE) {
  return gg_host::count_true("__syncthreads_count()", line, predicate);
}
static inline int __syncthreads_or(int predicate, GG_LINE) {
  return gg_host::count_true("__syncthreads_or()", line, predicate) != 0;
}
static inline int __syncthreads_and(int predicate, GG_LINE) {
  return gg_host::count_true("__syncthreads_and()", line, predicate) == gg_host::block.count;
}

// -- atomics: threads switch only at barriers, so plain loads and stores are atomic

namespace gg_host {
template <class T>
using Same = std::common_type_t<T>;  // the pointer alone decides the type
template <class T, class F>
GG_UNCHECKED static T change(T *at, F with) {
  const T old = *at;
  *at = with(old);
  return old;
}
}  // namespace gg_host

#define GG_ATOMIC(name, ...)                                                        \
  template <class T>                                                                \
  static T name(T *at, gg_host::Same<T> value) {                                    \
    return gg_host::change(at, [&](T old) -> T { return __VA_ARGS__; });            \
  }                                                                                 \
  template <class T>                                                                \
  static T name##_block(T *at, gg_host::Same<T> value) { return name(at, value); }
GG_ATOMIC(atomicAdd, old + value)
GG_ATOMIC(atomicSub, old - value)
GG_ATOMIC(atomicMax, old < value ? value : old)
GG_ATOMIC(atomicMin, value < old ? value : old)
GG_ATOMIC(atomicExch, (void(old), value))
GG_ATOMIC(atomicAnd, old & value)
GG_ATOMIC(atomicOr, old | value)
GG_ATOMIC(atomicXor, old ^ value)
GG_ATOMIC(atomicInc, old >= value ? T(0) : T(old + 1))
GG_ATOMIC(atomicDec, old == 0 || old > value ? value : T(old - 1))
template <class T>
static T atomicCAS(T *at, gg_host::Same<T> expected, gg_host::Same<T> value) {
  return gg_host::change(at, [&](T old) -> T { return old == expected ? value : old; });
}

// -- loads and stores with hints for caches

#define GG_LOAD(name) \
  template <class T>  \
  static T name(const T *at) { return *at; }
GG_LOAD(__ldg)
GG_LOAD(__ldca)
GG_LOAD(__ldcg)
GG_LOAD(__ldcs)
GG_LOAD(__ldlu)
GG_LOAD(__ldcv)
#define GG_STORE(name) \
  template <class T>   \
  static void name(T *at, gg_host::Same<T> value) { *at = value; }
GG_STORE(__stwb)
GG_STORE(__stcg)
GG_STORE(__stcs)
GG_STORE(__stwt)

// -- vectors

#define GG_VECTOR(of, short_name, two, four)                                        \
  struct short_name##1 { of x; };                                                              \
  struct alignas(two) short_name##2 { of x, y; };                                              \
  struct short_name##3 { of x, y, z; };                                                        \
  struct alignas(four) short_name##4 { of x, y, z, w; };                                        \
  static inline short_name##2 make_##short_name##2(of x, of y) { return {x, y}; }              \
  static inline short_name##3 make_##short_name##3(of x, of y, of z) { return {x, y, z}; }     \
  static inline short_name##4 make_##short_name##4(of x, of y, of z, of w) { return {x, y, z, w}; }
GG_VECTOR(float, float, 8, 16)
GG_VECTOR(int, int, 8, 16)
GG_VECTOR(unsigned, uint, 8, 16)
GG_VECTOR(short, short, 4, 8)
GG_VECTOR(unsigned short, ushort, 4, 8)
GG_VECTOR(signed char, char, 2, 4)
GG_VECTOR(unsigned char, uchar, 2, 4)
GG_VECTOR(double, double, 16, 16)
GG_VECTOR(long long, longlong, 16, 16)
GG_VECTOR(unsigned long long, ulonglong, 16, 16)

// -- launches

namespace gg_host {

static inline void *dynamic_shared() { return block.launch->shared; }

// A kernel's parameter from 64-bit words. Others than these would need signatures to launch.
template <class P>
static P parameter(const int64_t *words) {
  if constexpr (std::is_pointer_v<P>) return reinterpret_cast<P>(*words);
  else if constexpr (std::is_same_v<P, double>) return bits_of<double>(*words);
  else if constexpr (std::is_class_v<P>) {
    static_assert(std::is_trivially_copyable_v<P> && sizeof(P) % 8 == 0 && sizeof(P) <= 4096,
                  "a kernel's structures are of 64-bit words, and no larger than CUDA's limit");
    P made;
    memcpy(&made, words, sizeof made);
    return made;
  } else {
    static_assert(std::is_integral_v<P> && sizeof(P) == 8,
                  "a kernel's parameters are pointers, 64-bit integers, doubles and structures");
    return P(*words);
  }
}

template <class P>
constexpr char kind_of = std::is_pointer_v<P>    ? 'p'
                         : std::is_class_v<P>    ? 'w'
                         : std::is_integral_v<P> ? 'i'
                                                 : 'd';

template <class P>
constexpr size_t words_of = std::is_class_v<P> ? sizeof(P) / 8 : 1;

template <auto F>
struct Kernel;

template <class... P, void (*F)(P...)>
struct Kernel<F> {
  static inline std::tuple<P...> arguments;
  static constexpr size_t count = (words_of<P> + ... + 0);
  static void body() { std::apply(F, arguments); }
  template <size_t... I>
  static void take(const int64_t *words, std::index_sequence<I...>) {
    // CUDA takes each parameter from where its own pointer says: only the last may be longer.
    static_assert(((words_of<P> == 1 || I + 1 == sizeof...(P)) && ...),
                  "a kernel's structure is its last parameter");
    ((std::get<I>(arguments) = parameter<P>(words + I)), ...);
  }
  static int launch(const char *name, const Launch *how, const int64_t *words) {
    take(words, std::index_sequence_for<P...>());
#if defined(GG_RACES)
    cells = static_cast<Cell *>(std::calloc(kCells, sizeof(Cell))); // pages are zero when first used
    if (!cells) return kFailed;
    begin_checks(how);
    const int status = run(how, name, body);
    is_racing = false;
    std::free(cells);
    return status;
#else
    return run(how, name, body);
#endif
  }
  // A letter for each word.
  static const char *kinds() {
    static char all[count + 1] = {};
    size_t at = 0;
    ((memset(all + at, kind_of<P>, words_of<P>), at += words_of<P>), ...);
    return all;
  }
};

}  // namespace gg_host

// For each kernel, after the source: its launch function, and the kinds of its parameters.
#define GG_ENTRY(name)                                                                        \
  extern "C" __attribute__((visibility("default"))) int gg_launch_##name(                     \
      const gg_host::Launch *how, const int64_t *words) {                                     \
    return gg_host::Kernel<name>::launch(#name, how, words);                                  \
  }                                                                                           \
  extern "C" __attribute__((visibility("default"))) const char *gg_kinds_##name() {           \
    return gg_host::Kernel<name>::kinds();                                                    \
  }
