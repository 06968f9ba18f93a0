// How torch asks a device about itself: the guard (streams and events) and the hooks behind torch.mps.*.
#pragma once
#include "memory.h"
#include "random.h"
#include <ATen/detail/MPSHooksInterface.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>
#include <chrono>

namespace emulated_mps {

inline double milliseconds() {
  auto now = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration<double, std::milli>(now).count();
}

// Everything is done by the time a call returns, so that there is nothing to wait for.
class Guard final : public c10::impl::DeviceGuardImplInterface {
  using Device = c10::Device;
  using Stream = c10::Stream;
  using Index = c10::DeviceIndex;
  Stream only() const { return Stream(Stream::DEFAULT, kDevice); }

 public:
  c10::DeviceType type() const override { return c10::DeviceType::MPS; }
  Device exchangeDevice(Device) const override { return kDevice; }
  Device getDevice() const override { return kDevice; }
  void setDevice(Device device) const override { TORCH_CHECK(device.is_mps(), "Expected a MPS device, but got ", device); }
  void uncheckedSetDevice(Device) const noexcept override {}
  Stream getStream(Device) const override { return only(); }
  Stream getDefaultStream(Device) const override { return only(); }
  Stream getNewStream(Device, int = 0) const override { return only(); }
  Stream exchangeStream(Stream) const override { return only(); }
  Index deviceCount() const noexcept override { return 1; }
  void record(void** event, const Stream&, const Index, const c10::EventFlag) const override {
    if (!*event) *event = new double;
    *static_cast<double*>(*event) = milliseconds();
  }
  void block(void*, const Stream&) const override {}
  bool queryEvent(void*) const override { return true; }
  void destroyEvent(void* event, const Index) const noexcept override { delete static_cast<double*>(event); }
  bool queryStream(const Stream&) const override { return true; }
  void synchronizeStream(const Stream&) const override {}
  void synchronizeEvent(void*) const override {}
  void synchronizeDevice(const Index) const override {}
  double elapsedTime(void* start, void* end, const Index) const override {
    return *static_cast<double*>(end) - *static_cast<double*>(start);
  }
};

class Hooks final : public at::MPSHooksInterface {
  using Index = c10::DeviceIndex;

 public:
  void init() const override {}
  bool isBuilt() const override { return true; }
  bool isAvailable() const override { return true; }
  bool hasMPS() const override { return true; }
  bool hasPrimaryContext(Index) const override { return true; }
  Index deviceCount() const override { return 1; }
  void setCurrentDevice(Index) const override {}
  Index getCurrentDevice() const override { return 0; }
  Index exchangeDevice(Index) const override { return 0; }
  Index maybeExchangeDevice(Index) const override { return 0; }
  c10::Device getDeviceFromPtr(void*) const override { return kDevice; }
  bool isOnMacOSorNewer(unsigned major, unsigned minor) const override {
    return state().macos >= int(100 * major + minor);
  }

  const at::Generator& getDefaultGenerator(Index) const override { return default_generator(); }
  at::Generator getNewGenerator(Index) const override { return at::make_generator<DeviceGenerator>(); }

  c10::Allocator* getMPSDeviceAllocator() const override { return &allocator(); }
  c10::Allocator* getPinnedMemoryAllocator() const override {
    // Until 2.14 the "pinned" memory was the GPU's own, and torch refused to put a CPU tensor there.
    TORCH_CHECK(state().release >= 214, "Attempted to set the storage of a tensor on device \"cpu\" to a storage on "
                "different device \"mps:0\".  This is no longer allowed; the devices must match.");
    return c10::GetCPUAllocator();
  }
  void emptyCache() const override { allocator().emptyCache({0, 0}); }
  size_t getCurrentAllocatedMemory() const override { return size_t(ledger().live()); }
  size_t getDriverAllocatedMemory() const override { return size_t(ledger().driver()); }
  size_t getRecommendedMaxMemory() const override {
    ledger().check_started();
    return size_t(ledger().recommended);
  }
  size_t getMaxBufferLength() const override { return size_t(ledger().largest_buffer); }
  void setMemoryFraction(double ratio) const override { ledger().high_ratio = ratio; }

  void deviceSynchronize() const override {}
  void commitStream() const override {}
  void profilerStartTrace(const std::string&, bool) const override {}
  void profilerStopTrace() const override {}

  uint32_t acquireEvent(bool) const override { std::lock_guard<std::mutex> lock(mutex_); return next_event_++; }
  void releaseEvent(uint32_t event) const override { std::lock_guard<std::mutex> lock(mutex_); events_.erase(event); }
  void recordEvent(uint32_t event) const override { std::lock_guard<std::mutex> lock(mutex_); events_[event] = milliseconds(); }
  void waitForEvent(uint32_t) const override {}
  void synchronizeEvent(uint32_t) const override {}
  bool queryEvent(uint32_t) const override { return true; }
  double elapsedTimeOfEvents(uint32_t start, uint32_t end) const override {
    std::lock_guard<std::mutex> lock(mutex_);
    return events_[end] - events_[start];
  }

 private:
  // Shared by all hooks objects: torch may have made its own before us (see install in control.cpp).
  static inline std::mutex mutex_;
  static inline std::unordered_map<uint32_t, double> events_;
  static inline uint32_t next_event_ = 1;
};

}  // namespace emulated_mps
