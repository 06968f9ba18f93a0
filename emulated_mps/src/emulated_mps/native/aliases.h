// Zero-copy views between the two devices: a CPU tensor on an mps tensor's memory, and the other way round.
#pragma once
#include "memory.h"
#include <ATen/ATen.h>
#include <cstring>

namespace emulated_mps {

inline const c10::DispatchKeySet kCpuKeys(c10::DispatchKey::CPU), kMpsKeys(c10::DispatchKey::MPS);

inline bool on_mps(const at::Tensor& tensor) { return tensor.defined() && tensor.device().is_mps(); }

// The dtypes that the device refuses to hold.
inline void check_dtype(at::ScalarType dtype) {
  const auto& s = state();
  TORCH_CHECK_TYPE(dtype != at::kDouble && dtype != at::kComplexDouble,
                   "Cannot convert a MPS Tensor to float64 dtype as the MPS framework doesn't support float64. "
                   "Please use float32 instead.");
  TORCH_CHECK_TYPE(dtype != at::kBFloat16 || s.release >= 203, "BFloat16 is not supported on MPS");
  TORCH_CHECK_TYPE(dtype != at::kBFloat16 || s.macos >= 1400, "MPS BFloat16 is only supported on MacOS 14 or newer");
  TORCH_CHECK_TYPE(!at::isComplexType(dtype) || s.macos >= 1400,
                   "MPS complex types are only supported on MacOS 14.0 or newer.");
}

inline void release_storage(void* context) { delete static_cast<c10::Storage*>(context); }

inline at::Tensor make_tensor_like(c10::Storage storage, c10::DispatchKeySet keys, const c10::TensorImpl* like) {
  auto tensor = at::detail::make_tensor<c10::TensorImpl>(std::move(storage), keys, like->dtype());
  auto* made = tensor.unsafeGetTensorImpl();
  made->set_sizes_and_strides(like->sizes(), like->strides(), like->storage_offset());
  if (like->is_wrapped_number()) made->set_wrapped_number(true);
  return tensor;
}

// The aliases of one call. Tensors that share memory on one side share it on the other.
class Aliases {
 public:
  at::Tensor on_cpu(const at::Tensor& tensor) {
    TORCH_CHECK(on_mps(tensor), "Expected all tensors to be on the same device, but found at least two devices, mps:0 and ",
                tensor.device(), "!");
    auto alias = make_tensor_like(cpu_storage(tensor.storage()), kCpuKeys, tensor.unsafeGetTensorImpl());
    if (tensor.is_conj()) alias._set_conj(true);
    if (tensor.is_neg()) alias._set_neg(true);
    return alias;
  }

  // A CPU kernel's result as a tensor of the device; its memory counts from here on.
  at::Tensor on_device(const at::Tensor& result) {
    if (!result.defined() || !result.device().is_cpu()) return result;
    TORCH_CHECK_NOT_IMPLEMENTED(result.layout() == at::kStrided && !result.is_quantized(),
                                "sparse and quantized tensors are not emulated on MPS");
    check_dtype(result.scalar_type());
    return make_tensor_like(device_storage(result.storage()), kMpsKeys, result.unsafeGetTensorImpl());
  }

  // The CPU kernel resized an alias: give the tensor of the device the new memory and shape.
  static void follow_resize(const at::Tensor& tensor, const at::Tensor& alias) {
    auto* to = tensor.unsafeGetTensorImpl();
    auto* from = alias.unsafeGetTensorImpl();
    auto storage = tensor.storage(), resized = alias.storage();
    if (resized.nbytes() != storage.nbytes() || resized.data() != storage.data()) {
      auto memory = allocator().allocate(resized.nbytes());
      if (resized.nbytes()) memcpy(memory.get(), resized.data(), resized.nbytes());
      storage.unsafeGetStorageImpl()->set_data_ptr_noswap(std::move(memory));
      storage.unsafeGetStorageImpl()->set_nbytes(resized.nbytes());
    }
    if (to->sizes() != from->sizes() || to->strides() != from->strides() || to->storage_offset() != from->storage_offset())
      to->set_sizes_and_strides(from->sizes(), from->strides(), from->storage_offset());
  }

 private:
  c10::Storage cpu_storage(const c10::Storage& storage) {
    for (auto& [device, cpu] : pairs_)
      if (device.unsafeGetStorageImpl() == storage.unsafeGetStorageImpl()) return cpu;
    c10::DataPtr memory(const_cast<void*>(storage.data()), new c10::Storage(storage), &release_storage, c10::Device(c10::kCPU));
    c10::Storage cpu(c10::Storage::use_byte_size_t(), storage.nbytes(), std::move(memory), c10::GetCPUAllocator(), true);
    pairs_.emplace_back(storage, cpu);
    return cpu;
  }

  c10::Storage device_storage(const c10::Storage& storage) {
    for (auto& [device, cpu] : pairs_)
      if (cpu.unsafeGetStorageImpl() == storage.unsafeGetStorageImpl()) return device;
    c10::DataPtr memory(const_cast<void*>(storage.data()), new c10::Storage(storage), &release_storage, c10::Device(c10::kCPU));
    auto bytes = int64_t(storage.nbytes());
    c10::Storage device(c10::Storage::use_byte_size_t(), bytes, allocator().adopt(std::move(memory), bytes), &allocator(), true);
    pairs_.emplace_back(device, storage);
    return device;
  }

  c10::SmallVector<std::pair<c10::Storage, c10::Storage>, 4> pairs_;  // (device, cpu)
};

// Kernels here call others by their public names, below autograd.
class BelowAutograd {
  c10::impl::ExcludeDispatchKeyGuard guard_{c10::autograd_dispatch_keyset_with_ADInplaceOrView};
};

}  // namespace emulated_mps
