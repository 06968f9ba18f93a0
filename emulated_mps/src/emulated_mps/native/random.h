// Random numbers of the device's own: a generator that lives on mps and draws as the CPU's does.
#pragma once
#include "state.h"
#include <ATen/ATen.h>
#include <ATen/CPUGeneratorImpl.h>

namespace emulated_mps {

class DeviceGenerator final : public c10::GeneratorImpl {
 public:
  at::Generator inner;

  explicit DeviceGenerator(uint64_t seed = c10::default_rng_seed_val)
      : GeneratorImpl(kDevice, c10::DispatchKeySet(c10::DispatchKey::MPS)), inner(at::detail::createCPUGenerator(seed)) {}
  void set_current_seed(uint64_t seed) override { inner.set_current_seed(seed); }
  uint64_t current_seed() const override { return inner.current_seed(); }
  uint64_t seed() override { return inner.seed(); }
  void set_offset(uint64_t) override {}
  uint64_t get_offset() const override { return 0; }
  void set_state(const c10::TensorImpl& state) override { inner.unsafeGetGeneratorImpl()->set_state(state); }
  c10::intrusive_ptr<c10::TensorImpl> get_state() const override { return inner.unsafeGetGeneratorImpl()->get_state(); }
  DeviceGenerator* clone_impl() const override {
    auto* copy = new DeviceGenerator();
    copy->inner = inner.clone();
    return copy;
  }
};

inline const at::Generator& default_generator() {
  static auto* one = new at::Generator(at::make_generator<DeviceGenerator>());
  return *one;
}

// The generator to hand to a CPU kernel in place of one of this device.
inline at::Generator for_cpu(const at::Generator& generator) {
  if (!generator.defined() || !generator.device().is_mps()) return generator;
  return static_cast<DeviceGenerator*>(generator.unsafeGetGeneratorImpl())->inner;
}

// While it lives, CPU kernels that draw from the CPU's default generator (dropout) draw the device's numbers.
class BorrowDefaultGenerator {
 public:
  explicit BorrowDefaultGenerator(bool needed) : needed_(needed) {
    if (!needed_) return;
    auto cpu = at::detail::getDefaultCPUGenerator();
    std::lock_guard<std::mutex> lock(cpu.mutex());
    saved_ = cpu.unsafeGetGeneratorImpl()->get_state();
    cpu.unsafeGetGeneratorImpl()->set_state(*default_generator().unsafeGetGeneratorImpl()->get_state());
  }
  ~BorrowDefaultGenerator() {
    if (!needed_) return;
    auto cpu = at::detail::getDefaultCPUGenerator();
    std::lock_guard<std::mutex> lock(cpu.mutex());
    default_generator().unsafeGetGeneratorImpl()->set_state(*cpu.unsafeGetGeneratorImpl()->get_state());
    cpu.unsafeGetGeneratorImpl()->set_state(*saved_);
  }

 private:
  bool needed_;
  c10::intrusive_ptr<c10::TensorImpl> saved_;
};

}  // namespace emulated_mps
