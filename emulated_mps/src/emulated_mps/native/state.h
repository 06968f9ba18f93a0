// What the device pretends to be, and what it has counted. One per process; changed from Python (see control.cpp).
#pragma once
#include <c10/core/Device.h>
#include <cstdint>
#include <mutex>
#include <string>
#include <unordered_map>
#include <unordered_set>

namespace emulated_mps {

inline const c10::Device kDevice(c10::DeviceType::MPS, 0);

// What happens when an operator meets tensors of this device.
enum class Coverage : int { Native = 0, Fallback = 1, AlwaysCpu = 2, Never = 3 };

// Wrong results that real releases gave without a word, as bits.
enum KnownBug : int {
  LayerNormGradients = 1,
  LongLinearGradients = 2,    // over 32767 rows or more
  BorderLinearGradients = 4,  // over 32767 or 32768
  LeakingCausalAttention = 8,
  LostBias = 16,
  HiddenRows = 32,            // queries that see nothing give NaN
  HiddenRowsOfFew = 64,       // the same, where there are at most 8 queries
  FewQueries = 128,
  LostCollectives = 256,      // with the fallback variable: run on copies, and nothing comes back
};

struct Usage {
  int64_t calls = 0;
  double seconds = 0;
};

struct State {
  std::mutex mutex;
  // Settings.
  bool fallback = false;      // PYTORCH_ENABLE_MPS_FALLBACK, read once
  int release = 213;          // 100 * major + minor
  int macos = 1500;           // the same
  int known_bugs = 0;
  std::unordered_map<std::string, Coverage> coverage;  // "aten::name.overload"; what is not here is missing
  // Counters.
  bool recording = false;
  bool warned = false;
  int64_t non_blocking_copies = 0;
  std::unordered_map<std::string, int64_t> calls;
  std::unordered_map<std::string, Usage> fallbacks;
};

inline State& state() {
  static State* one = new State();  // never destroyed: tensors outlive static objects
  return *one;
}

inline void record(const std::string& name) {
  auto& s = state();
  if (!s.recording) return;
  std::lock_guard<std::mutex> lock(s.mutex);
  s.calls[name]++;
}

inline bool has_bug(KnownBug bug) { return state().known_bugs & bug; }

}  // namespace emulated_mps
