// Registration with torch, and the plain C functions by which Python steers the device. No pybind11: that would triple
// the time to compile.
#include "kernels.h"
#include <ATen/detail/CUDAHooksInterface.h>
#include <torch/library.h>
#include <memory>
#include <sstream>

namespace em = emulated_mps;

TORCH_LIBRARY_IMPL(_, MPS, m) { m.fallback(torch::CppFunction::makeFromBoxedFunction<&em::dispatch>()); }

TORCH_LIBRARY_IMPL(aten, MPS, m) {
  m.impl("empty.memory_format", em::empty);
  m.impl("empty_strided", em::empty_strided);
  m.impl("_efficientzerotensor", em::zeros_in_full);
  m.impl("resize_", em::resize_);
  m.impl("set_.source_Storage", em::set_whole_storage_);
  m.impl("set_.source_Storage_storage_offset", em::set_storage_);
  m.impl("set_.source_Tensor", em::set_tensor_);
  m.impl("copy_", em::copy_);
  m.impl("_copy_from", em::copy_from);
  m.impl("_copy_from_and_resize", em::copy_from_and_resize);
  m.impl("convolution_overrideable", em::convolution);
  m.impl("convolution_backward_overrideable", em::convolution_backward);
  m.impl("max_pool2d_backward", em::max_pool_backward);
  m.impl("linear_backward", em::linear_backward);
  m.impl("scaled_dot_product_attention", em::attention);
  m.impl("_scaled_dot_product_attention_math_for_mps", em::attention_for_evaluation);
  m.impl("native_layer_norm_backward", torch::CppFunction::makeFromBoxedFunction<&em::layer_norm_backward>());
}

// With gradients the composite would ask a table of kernels that is compiled for Macs only.
TORCH_LIBRARY_IMPL(aten, AutogradMPS, m) { m.impl("scaled_dot_product_attention", em::attention); }

namespace at {
using EmulatedHooks = em::Hooks;
C10_REGISTER_TYPED_CLASS(MPSHooksRegistry, "MPSHooks", EmulatedHooks)
}  // namespace at

namespace {

bool no(const void*) { return false; }

// torch allows one accelerator in a build. In one for CUDA, without a card, CUDA has to say that it was not built.
// isBuilt() is the first virtual function after the two destructors.
void hide_cuda() {
  auto& hooks = at::detail::getCUDAHooks();
  if (!hooks.isBuilt()) return;
  static void* table[2 + 96];
  void** original = *(void***)&hooks;
  memcpy(table, original - 2, sizeof(table));
  table[2 + 2] = (void*)&no;
  *(void***)&hooks = table + 2;
}

// torch keeps the hooks that it made first. When somebody asked before us, its object, which holds no data, is made ours.
void take_over_hooks() {
  auto& hooks = at::detail::getMPSHooks();
  if (hooks.isBuilt()) return;
  static auto* ours = new em::Hooks();
  memcpy((void*)&hooks, (void*)ours, sizeof(void*));
}

// Never destroyed: at exit torch's own registry may be gone before them.
std::string& answer = *new std::string();  // read by Python before the next call
std::unique_ptr<torch::Library>& own_kernels = *new std::unique_ptr<torch::Library>();

}  // namespace

extern "C" {

void emulated_mps_install() {
  static auto* guard = new em::Guard();
  c10::impl::registerDeviceGuard(c10::DeviceType::MPS, guard);
  c10::SetAllocator(c10::DeviceType::MPS, &em::allocator(), 200);
  hide_cuda();
  take_over_hooks();
}

// Called as Python ends. The engine's thread lets go of a graph only after backward() returned; should it own Python
// objects by then, and Python be gone, the process aborts. One more graph, without any, waits for the one before.
void emulated_mps_finish() {
  try {
    auto last = at::ones({1}, at::TensorOptions().device(em::kDevice)).set_requires_grad(true);
    last.view({1}).backward();
  } catch (const std::exception&) {  // no memory, or a forked process without the thread: then there is nothing to wait for
  }
}

void emulated_mps_set_system(int release, int macos, int known_bugs) {
  em::state().release = release;
  em::state().macos = macos;
  em::state().known_bugs = known_bugs;
  em::ledger().set_splits_buffers(release >= 214);
}

void emulated_mps_set_fallback(bool on) { em::state().fallback = on; }

void emulated_mps_set_memory(int64_t recommended, double high_ratio, double low_ratio, int64_t largest_buffer) {
  em::ledger().recommended = recommended;
  em::ledger().high_ratio = high_ratio;
  em::ledger().low_ratio = low_ratio;
  em::ledger().largest_buffer = largest_buffer;
}

void emulated_mps_refuse_memory(const char* why) { em::ledger().refusal = why; }

void emulated_mps_forget_coverage() {
  std::lock_guard<std::mutex> lock(em::state().mutex);
  em::state().coverage.clear();
}

void emulated_mps_set_coverage(const char* name, int coverage) {
  std::lock_guard<std::mutex> lock(em::state().mutex);
  em::state().coverage[name] = em::Coverage(coverage);
}

// Composite operators that have a kernel of their own on the device, separated by spaces.
void emulated_mps_set_own_kernels(const char* names) {
  own_kernels.reset();
  own_kernels = std::make_unique<torch::Library>(torch::Library::IMPL, "aten", c10::DispatchKey::MPS, __FILE__, __LINE__);
  std::istringstream words(names);
  for (std::string name; words >> name;)
    own_kernels->impl(name.c_str(), name == "linear" ? torch::CppFunction::makeFromBoxedFunction<&em::linear>()
                                                     : torch::CppFunction::makeFromBoxedFunction<&em::dispatch>());
}

void emulated_mps_record(bool on) {
  std::lock_guard<std::mutex> lock(em::state().mutex);
  em::state().recording = on;
  em::state().calls.clear();
}

const char* emulated_mps_calls() {
  std::lock_guard<std::mutex> lock(em::state().mutex);
  answer.clear();
  for (auto& [name, count] : em::state().calls) answer += name + "\t" + std::to_string(count) + "\n";
  return answer.c_str();
}

const char* emulated_mps_fallbacks() {
  std::lock_guard<std::mutex> lock(em::state().mutex);
  answer.clear();
  for (auto& [name, usage] : em::state().fallbacks)
    answer += name + "\t" + std::to_string(usage.calls) + "\t" + std::to_string(usage.seconds) + "\n";
  return answer.c_str();
}

void emulated_mps_forget_fallbacks() {
  std::lock_guard<std::mutex> lock(em::state().mutex);
  em::state().fallbacks.clear();
  em::state().warned = false;
}

int64_t emulated_mps_count(int which) {
  auto& ledger = em::ledger();
  switch (which) {
    case 0: return ledger.live();
    case 1: return ledger.peak();
    case 2: return ledger.driver();
    case 3: return ledger.driver_peak();
    case 4: return ledger.graphs();
    case 5: return ledger.recommended;
    case 6: return ledger.limit();
    case 7: return em::state().non_blocking_copies;
    default: return -1;
  }
}

void emulated_mps_reset_peak() { em::ledger().reset_peak(); }
void emulated_mps_forget_graphs() { em::ledger().empty_cache(true); }

}  // extern "C"
