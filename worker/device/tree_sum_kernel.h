#pragma once

#include <cstdint>

// What every thread of a device does for Device::AddInTree. It is compiled for the device and, in
// tests and for devices of the host, by the host's compiler: plain C++17, no other headers.
#if defined(__CUDACC__) || defined(__HIPCC__)
#define TANDEM_HOST_AND_DEVICE __host__ __device__
#else
#define TANDEM_HOST_AND_DEVICE
#endif
#if defined(__CUDA_ARCH__) || defined(__HIP_DEVICE_COMPILE__)
#define TANDEM_DEVICE_CODE
#endif

namespace tandem::device {

// A block that is put on the stack, and how many additions follow: each takes the two nodes on top.
struct TreeTerm {
  const float* values;
  uint32_t additions;
};

// Elements [begin, end), which the same blocks have: terms [first_term, first_term + terms). In
// [vectors_begin, vectors_end) every four begin at aligned addresses, in all blocks and the sum.
struct TreeRun {
  int64_t begin, vectors_begin, vectors_end, end;
  uint32_t first_term, terms;
};

// Which thread of how many: rows share the runs, and the threads of a row the elements of each.
struct GridPlace {
  int64_t thread = 0, threads = 1;
  uint32_t row = 0, rows = 1;
};

// Nodes of a binary counter over 32-bit leaves.
inline constexpr uint32_t kTreeDepth = 33;
inline constexpr int64_t kVector = 4;

// Values that are loaded, added and stored side by side.
template <int64_t kLanes>
struct alignas(kLanes * sizeof(float)) Lanes {
  float lane[kLanes];
};

// The compiler is told that this is one addition and one rounding, whatever stands around it.
TANDEM_HOST_AND_DEVICE inline float AddRounded(float left, float right) {
#ifdef TANDEM_DEVICE_CODE
  return __fadd_rn(left, right);
#else
  return left + right;
#endif
}

TANDEM_HOST_AND_DEVICE inline float MultiplyRounded(float value, float scale) {
#ifdef TANDEM_DEVICE_CODE
  return __fmul_rn(value, scale);
#else
  return value * scale;
#endif
}

// The sum of elements [element, element + kLanes). All of it is read before anything is written:
// `sum` may be one of the blocks.
template <int64_t kLanes>
TANDEM_HOST_AND_DEVICE inline void AddTerms(const TreeTerm* terms, uint32_t count, float scale,
                                            int64_t element, float* sum) {
  Lanes<kLanes> stack[kTreeDepth];
  uint32_t depth = 0;
  for (uint32_t i = 0; i < count; ++i) {
    Lanes<kLanes> node = *reinterpret_cast<const Lanes<kLanes>*>(terms[i].values + element);
    for (uint32_t addition = 0; addition < terms[i].additions; ++addition) {
      const Lanes<kLanes> left = stack[--depth];
      for (int64_t k = 0; k < kLanes; ++k) node.lane[k] = AddRounded(left.lane[k], node.lane[k]);
    }
    stack[depth++] = node;
  }
  Lanes<kLanes> root = stack[0];
  for (int64_t k = 0; k < kLanes; ++k) root.lane[k] = MultiplyRounded(root.lane[k], scale);
  *reinterpret_cast<Lanes<kLanes>*>(sum + element) = root;
}

// How many pieces of work a run is: vectors, and single elements before and after them.
TANDEM_HOST_AND_DEVICE inline int64_t VectorsOf(const TreeRun& run) {
  return (run.vectors_end - run.vectors_begin) / kVector;
}
TANDEM_HOST_AND_DEVICE inline int64_t PiecesOf(const TreeRun& run) {
  const int64_t in_vectors = run.vectors_end - run.vectors_begin;
  return VectorsOf(run) + (run.end - run.begin - in_vectors);
}

TANDEM_HOST_AND_DEVICE inline void AddPiece(const TreeRun& run, const TreeTerm* terms, float scale,
                                            int64_t piece, float* sum) {
  const int64_t vectors = VectorsOf(run);
  if (piece < vectors) {
    const int64_t element = run.vectors_begin + kVector * piece;
    AddTerms<kVector>(terms, run.terms, scale, element, sum);
    return;
  }
  int64_t element = run.begin + (piece - vectors);
  if (element >= run.vectors_begin) element += run.vectors_end - run.vectors_begin;
  AddTerms<1>(terms, run.terms, scale, element, sum);
}

// What the thread at `place` does. Each element is one thread's, with all of its additions, so that
// no grid has other bits than another.
TANDEM_HOST_AND_DEVICE inline void AddRunsInTree(const TreeRun* runs, uint32_t count,
                                                 const TreeTerm* terms, float scale, float* sum,
                                                 const GridPlace& place) {
  for (uint32_t i = place.row; i < count; i += place.rows) {
    const TreeRun run = runs[i];
    const int64_t pieces = PiecesOf(run);
    for (int64_t piece = place.thread; piece < pieces; piece += place.threads) {
      AddPiece(run, terms + run.first_term, scale, piece, sum);
    }
  }
}

}  // namespace tandem::device
