// Memory as the Metal allocator counts it: what tensors hold, what is kept for reuse, what compiled graphs hold,
// and a limit on the sum.
#pragma once
#include "state.h"
#include <c10/core/CPUAllocator.h>
#include <c10/core/CachingDeviceAllocator.h>
#include <c10/util/Exception.h>
#include <algorithm>
#include <cstdlib>
#include <map>

namespace emulated_mps {

// Older releases wrote GB and meant GiB; that it changed with 2.7 is inferred from the dates of users' reports.
inline std::string human(int64_t bytes) {
  char text[64];
  const char* unit = state().release >= 207 ? "iB" : "B";
  if (bytes >= (1LL << 30)) snprintf(text, 64, "%.2f G%s", double(bytes) / (1LL << 30), unit);
  else if (bytes >= (1LL << 20)) snprintf(text, 64, "%.2f M%s", double(bytes) / (1LL << 20), unit);
  else if (bytes >= (1LL << 10)) snprintf(text, 64, "%.2f K%s", double(bytes) / (1LL << 10), unit);
  else snprintf(text, 64, "%lld bytes", (long long)bytes);
  return text;
}

class Ledger {
 public:
  int64_t recommended = int64_t(10) << 30;
  double high_ratio = 1.7, low_ratio = 1.4;
  int64_t largest_buffer = int64_t(1) << 62;
  int64_t graph_bytes = 55 << 10;

  // From release 2.14 on, free memory of any size serves.
  void set_splits_buffers(bool splits) {
    std::lock_guard<std::mutex> lock(mutex_);
    if (splits != splits_buffers_) drop_cache();  // which is counted in another way
    splits_buffers_ = splits;
  }

  std::string refusal;  // why the allocator cannot start; empty: it can

  void check_started() const { TORCH_CHECK(refusal.empty(), refusal); }

  void take(int64_t wanted) {
    check_started();
    std::lock_guard<std::mutex> lock(mutex_);
    const int64_t bytes = rounded(wanted);
    TORCH_CHECK(bytes < largest_buffer, "Invalid buffer size: ", human(bytes));
    if (!reuse(bytes)) {
      if (driver() + bytes > int64_t(low_ratio * recommended) && low_ratio > 0) drop_cache();
      if (high_ratio > 0 && driver() + bytes > limit()) drop_cache();
      if (high_ratio > 0 && driver() + bytes > limit()) {
        out_of_memory_++;
        TORCH_CHECK(false, "MPS backend out of memory (MPS allocated: ", human(live_), ", other allocations: ",
                    human(graphs_held()), ", max allowed: ", human(limit()), "). Tried to allocate ", human(bytes), " on ",
                    wanted <= (1 << 20) ? "shared" : "private",
                    " pool. Use PYTORCH_MPS_HIGH_WATERMARK_RATIO=0.0 to disable upper limit for memory allocations "
                    "(may cause system failure).");
      }
    }
    live_ += bytes;
    peak_ = std::max(peak_, live_);
    driver_peak_ = std::max(driver_peak_, driver());
  }

  void give_back(int64_t wanted) {
    std::lock_guard<std::mutex> lock(mutex_);
    const int64_t bytes = rounded(wanted);
    live_ -= bytes;
    cached_ += bytes;
    free_[bytes]++;
  }

  // A graph is compiled for every new combination of operator, shapes and dtypes.
  void compile_graph(uint64_t key) {
    std::lock_guard<std::mutex> lock(mutex_);
    graphs_.insert(key);
    driver_peak_ = std::max(driver_peak_, driver());
  }

  void empty_cache(bool with_graphs) {
    std::lock_guard<std::mutex> lock(mutex_);
    drop_cache();
    if (with_graphs) graphs_.clear();
  }

  void reset_peak() {
    std::lock_guard<std::mutex> lock(mutex_);
    peak_ = live_;
    driver_peak_ = driver();
  }

  int64_t live() const { return live_; }
  int64_t peak() const { return peak_; }
  int64_t driver() const { return live_ + cached_ + graphs_held(); }
  int64_t driver_peak() const { return driver_peak_; }
  int64_t graphs() const { return int64_t(graphs_.size()); }
  int64_t limit() const { return int64_t(high_ratio * double(recommended)); }
  int64_t out_of_memory() const { return out_of_memory_; }

 private:
  static int64_t rounded(int64_t bytes) { return (bytes + 255) / 256 * 256; }
  int64_t graphs_held() const { return graphs() * graph_bytes; }
  void drop_cache() { cached_ = 0; free_.clear(); }

  bool reuse(int64_t bytes) {
    if (splits_buffers_) {
      if (cached_ < bytes) return false;
    } else {
      auto found = free_.find(bytes);
      if (found == free_.end()) return false;
      if (--found->second == 0) free_.erase(found);
    }
    cached_ -= bytes;
    return true;
  }

  std::mutex mutex_;
  bool splits_buffers_ = false;
  int64_t live_ = 0, peak_ = 0, cached_ = 0, driver_peak_ = 0, out_of_memory_ = 0;
  std::map<int64_t, int64_t> free_;        // buffers kept by size
  std::unordered_set<uint64_t> graphs_;
};

inline Ledger& ledger() {
  static Ledger* one = new Ledger();
  return *one;
}

// A buffer, or memory adopted from a result that a CPU kernel made.
struct Buffer {
  void* memory;
  int64_t bytes;
  c10::DataPtr adopted;
};

inline void release_buffer(void* context) {
  auto* buffer = static_cast<Buffer*>(context);
  ledger().give_back(buffer->bytes);
  if (!buffer->adopted) free(buffer->memory);
  delete buffer;
}

class Allocator final : public c10::DeviceAllocator {
 public:
  c10::DataPtr allocate(size_t bytes) override {
    ledger().take(int64_t(bytes));
    void* memory = nullptr;
    if (bytes && posix_memalign(&memory, 64, bytes)) {
      ledger().give_back(int64_t(bytes));
      TORCH_CHECK(false, "the host has no memory left for ", human(int64_t(bytes)));
    }
    return {memory, new Buffer{memory, int64_t(bytes), {}}, &release_buffer, kDevice};
  }

  c10::DataPtr adopt(c10::DataPtr&& source, int64_t bytes) {
    ledger().take(bytes);
    void* memory = source.get();
    auto* buffer = new Buffer{memory, bytes, std::move(source)};
    if (!memory) buffer->adopted.clear();
    return {memory, buffer, &release_buffer, kDevice};
  }

  c10::DeleterFnPtr raw_deleter() const override { return nullptr; }
  void copy_data(void* to, const void* from, size_t bytes) const override { default_copy_data(to, from, bytes); }
  bool initialized() override { return true; }
  void emptyCache(c10::MempoolId_t) override { ledger().empty_cache(state().release >= 213); }
  void recordStream(const c10::DataPtr&, c10::Stream) override {}
  c10::CachingDeviceAllocator::DeviceStats getDeviceStats(c10::DeviceIndex) override {
    c10::CachingDeviceAllocator::DeviceStats stats;
    for (auto* one : {&stats.allocated_bytes, &stats.active_bytes, &stats.requested_bytes}) {
      (*one)[0].current = ledger().live();
      (*one)[0].peak = ledger().peak();
    }
    stats.reserved_bytes[0].current = ledger().driver();
    stats.reserved_bytes[0].peak = ledger().driver_peak();
    stats.num_ooms = ledger().out_of_memory();
    return stats;
  }
  void resetAccumulatedStats(c10::DeviceIndex) override {}
  void resetPeakStats(c10::DeviceIndex) override { ledger().reset_peak(); }
  std::pair<size_t, size_t> getMemoryInfo(c10::DeviceIndex) override {
    auto free_bytes = std::max<int64_t>(0, ledger().recommended - ledger().driver());
    return {size_t(free_bytes), size_t(ledger().recommended)};
  }
};

inline Allocator& allocator() {
  static Allocator* one = new Allocator();
  return *one;
}

}  // namespace emulated_mps
