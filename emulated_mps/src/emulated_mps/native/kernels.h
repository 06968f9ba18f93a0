// Operators that cannot go through the CPU's kernels as they are: memory, copies, and those whose kernel on a Mac is
// another than the CPU's.
#pragma once
#include "operators.h"
#include <ATen/EmptyTensor.h>
#include <ATen/native/Resize.h>

namespace emulated_mps {
using at::Tensor;

// ---- memory

inline at::ScalarType or_default(std::optional<at::ScalarType> dtype) {
  return dtype.value_or(c10::typeMetaToScalarType(c10::get_default_dtype()));
}

inline Tensor empty(at::IntArrayRef size, std::optional<at::ScalarType> dtype, std::optional<at::Layout> layout, std::optional<at::Device>,
                    std::optional<bool>, std::optional<at::MemoryFormat> format) {
  const auto kind = or_default(dtype);
  check_dtype(kind);
  TORCH_CHECK_NOT_IMPLEMENTED(layout.value_or(at::kStrided) == at::kStrided, "only strided tensors are emulated on MPS");
  TORCH_CHECK(size.size() <= 16, "MPS supports tensors with dimensions <= 16, but got ", size.size(), ".");
  return at::detail::empty_generic(size, &allocator(), kMpsKeys, kind, format);
}

inline Tensor empty_strided(at::IntArrayRef size, at::IntArrayRef stride, std::optional<at::ScalarType> dtype, std::optional<at::Layout>,
                            std::optional<at::Device>, std::optional<bool>) {
  const auto kind = or_default(dtype);
  check_dtype(kind);
  return at::detail::empty_strided_generic(size, stride, &allocator(), kMpsKeys, kind);
}

inline Tensor zeros_in_full(at::IntArrayRef size, std::optional<at::ScalarType> dtype, std::optional<at::Layout> layout,
                            std::optional<at::Device> device, std::optional<bool> pinned) {
  auto tensor = empty(size, dtype, layout, device, pinned, std::nullopt);
  if (tensor.nbytes()) memset(tensor.storage().mutable_data(), 0, tensor.nbytes());
  return tensor;
}

inline const Tensor& resize_(const Tensor& self, at::IntArrayRef size, std::optional<at::MemoryFormat> format) {
  at::native::resize_impl_cpu_(self.unsafeGetTensorImpl(), size, std::nullopt, true);  // by the storage's own allocator
  if (format && *format != at::MemoryFormat::Preserve) self.unsafeGetTensorImpl()->empty_tensor_restride(*format);
  return self;
}

inline Tensor& set_storage_(Tensor& self, at::Storage storage, int64_t offset, at::IntArrayRef size, at::IntArrayRef stride) {
  at::native::checkSetStorage(self, storage, offset, size, stride);
  self.unsafeGetTensorImpl()->set_storage_offset(offset);
  at::native::resize_impl_cpu_(self.unsafeGetTensorImpl(), size, stride.data() ? at::OptionalIntArrayRef(stride) : std::nullopt, false);
  return self;
}

inline Tensor& set_whole_storage_(Tensor& self, at::Storage storage) {
  const auto count = int64_t(storage.nbytes() / self.dtype().itemsize());
  return set_storage_(self, storage, 0, count, {1});
}

inline Tensor& set_tensor_(Tensor& self, const Tensor& other) {
  if (self.is_same(other)) return self;
  return set_storage_(self, other.storage(), other.storage_offset(), other.sizes(), other.strides());
}

// ---- copies, within the device and between it and the CPU

inline Tensor& copy_(Tensor& self, const Tensor& source, bool non_blocking) {
  record("aten::copy_");
  if (non_blocking && on_mps(self) != on_mps(source)) {
    std::lock_guard<std::mutex> lock(state().mutex);
    state().non_blocking_copies++;
  }
  Aliases aliases;
  BelowAutograd below;
  auto to = on_mps(self) ? aliases.on_cpu(self) : self;
  to.copy_(on_mps(source) ? aliases.on_cpu(source) : source);
  return self;
}

inline Tensor copy_from(const Tensor& self, const Tensor& to, bool non_blocking) {
  Tensor target = to;
  copy_(target, self, non_blocking);
  return to;
}

inline Tensor copy_from_and_resize(const Tensor& self, const Tensor& to) {
  if (to.sizes() != self.sizes()) to.resize_(self.sizes());
  return copy_from(self, to, false);
}

// ---- convolution: the CPU's choice of kernel is compiled for CPU tensors

inline Tensor convolution(const Tensor& input, const Tensor& weight, const std::optional<Tensor>& bias, at::IntArrayRef stride,
                          at::IntArrayRef padding, at::IntArrayRef dilation, bool transposed, at::IntArrayRef output_padding, int64_t groups) {
  record("aten::_mps_convolution");
  Aliases aliases;
  BelowAutograd below;
  std::optional<Tensor> cpu_bias;
  if (bias && bias->defined()) cpu_bias = aliases.on_cpu(*bias);
  return aliases.on_device(at::convolution(aliases.on_cpu(input), aliases.on_cpu(weight), cpu_bias, stride, padding, dilation, transposed,
                                           output_padding, groups));
}

inline std::tuple<Tensor, Tensor, Tensor> convolution_backward(const Tensor& gradient, const Tensor& input, const Tensor& weight,
                                                               at::IntArrayRef stride, at::IntArrayRef padding, at::IntArrayRef dilation,
                                                               bool transposed, at::IntArrayRef output_padding, int64_t groups,
                                                               std::array<bool, 3> mask) {
  record("aten::mps_convolution_backward");
  Aliases aliases;
  BelowAutograd below;
  const int64_t bias_sizes[1] = {transposed ? weight.size(1) * groups : weight.size(0)};
  auto [a, b, c] = at::convolution_backward(aliases.on_cpu(gradient), aliases.on_cpu(input), aliases.on_cpu(weight),
                                            at::OptionalIntArrayRef(at::IntArrayRef(bias_sizes, 1)), stride, padding, dilation, transposed,
                                            output_padding, groups, mask);
  return {aliases.on_device(a), aliases.on_device(b), aliases.on_device(c)};
}

// ---- pooling: one kernel with a backward of its own, for which the CPU has none

inline Tensor max_pool_backward(const Tensor& gradient, const Tensor& input, at::IntArrayRef kernel, at::IntArrayRef stride,
                                at::IntArrayRef padding, at::IntArrayRef dilation, bool ceil) {
  record("aten::max_pool2d_backward");
  Aliases aliases;
  BelowAutograd below;
  const auto x = aliases.on_cpu(input);
  const auto places = std::get<1>(at::max_pool2d_with_indices(x, kernel, stride, padding, dilation, ceil));
  return aliases.on_device(at::max_pool2d_with_indices_backward(aliases.on_cpu(gradient), x, kernel, stride, padding, dilation, ceil, places));
}

// ---- linear: one kernel with a backward of its own, where the CPU uses addmm and mm

inline std::tuple<Tensor, Tensor, Tensor> linear_backward(const Tensor& input, const Tensor& gradient, const Tensor& weight,
                                                          std::array<bool, 3> mask) {
  record("aten::linear_backward");
  Aliases aliases;
  BelowAutograd below;
  const auto rows = [](const Tensor& t) { return t.dim() == 1 ? t.unsqueeze(0) : t.reshape({-1, t.size(-1)}); };
  const auto x = aliases.on_cpu(input), w = aliases.on_cpu(weight);
  const auto g = rows(aliases.on_cpu(gradient));
  Tensor to_input, to_weight, to_bias;
  if (mask[0]) to_input = g.mm(w).view(x.sizes());
  if (mask[1]) to_weight = g.t().mm(rows(x));
  if (mask[2]) to_bias = g.sum(0);
  // https://github.com/pytorch/pytorch/issues/177116: gradients a thousand times too large on the first two generations of chips,
  // where both sides of the result are 16 or more. https://github.com/pytorch/pytorch/issues/195163: the fix leaves two lengths.
  const auto length = g.size(0);
  const bool wrong = (has_bug(LongLinearGradients) && length >= 32767) ||
                     (has_bug(BorderLinearGradients) && (length == 32767 || length == 32768));
  if (mask[1] && wrong && to_weight.size(0) >= 16 && to_weight.size(1) >= 16) to_weight.mul_(1000);
  return {aliases.on_device(to_input), aliases.on_device(to_weight), aliases.on_device(to_bias)};
}

// https://github.com/pytorch/pytorch/issues/188438: a matrix by a vector, with a bias that is not added.
inline void linear(const c10::OperatorHandle& op, Stack* stack) {
  const auto& input = torch::jit::peek(*stack, 0, 3).toTensor();
  auto& bias = torch::jit::peek(*stack, 2, 3);
  const bool is_vector = input.dim() == 1 || input.size(-2) == 1;
  if (has_bug(LostBias) && is_vector && input.is_contiguous() && bias.isTensor()) bias = c10::IValue();
  dispatch(op, stack);
}

// ---- attention: one way with gradients or dropout, another without

inline std::optional<Tensor> as_added_mask(const std::optional<Tensor>& mask, const Tensor& like) {
  if (!mask || !mask->defined() || mask->scalar_type() != at::kBool) return mask;
  auto added = at::zeros_like(*mask, mask->options().dtype(like.scalar_type()));
  return added.masked_fill_(mask->logical_not(), -std::numeric_limits<double>::infinity());
}

// Before 2.5, when attention got a softmax that is safe for hidden rows, and with it operators that were missing.
inline Tensor early_attention(const Tensor& query, const Tensor& key, const Tensor& value, std::optional<Tensor> mask, double dropout,
                              bool causal, std::optional<double> scale) {
  if (causal) mask = as_added_mask(at::ones({query.size(-2), key.size(-2)}, query.options().dtype(at::kBool)).tril(), query);
  auto scores = at::matmul(query, key.transpose(-2, -1)) * scale.value_or(1 / std::sqrt(double(query.size(-1))));
  if (mask && mask->defined()) scores = scores + *mask;
  const auto weights = at::softmax(scores, -1);
  return at::matmul(dropout > 0 ? at::dropout(weights, dropout, true) : weights, value);
}

inline Tensor attention(const Tensor& query, const Tensor& key, const Tensor& value, const std::optional<Tensor>& mask, double dropout,
                        bool causal, std::optional<double> scale, bool grouped) {
  const bool needs_gradient = at::GradMode::is_enabled() && (query.requires_grad() || key.requires_grad() || value.requires_grad());
  const auto added = as_added_mask(mask, query);
  const bool fused = state().release >= (grouped ? 213 : 205);
  if (needs_gradient || dropout > 0 || !fused) {
    record("attention: composite, for training");
    if (state().release < 205) return early_attention(query, key, value, added, dropout, causal, scale);
    return std::get<0>(at::_scaled_dot_product_attention_math(query, key, value, added, dropout, causal, std::nullopt, scale, grouped));
  }
  record("attention: fused, for evaluation");
  return std::get<0>(at::_scaled_dot_product_attention_math_for_mps(query, key, value, added, dropout, causal, std::nullopt, scale, grouped));
}

inline std::tuple<Tensor, Tensor> attention_for_evaluation(const Tensor& query, const Tensor& key, const Tensor& value,
                                                           const std::optional<Tensor>& mask, double, bool causal,
                                                           const std::optional<Tensor>&, std::optional<double> scale, bool grouped) {
  record("aten::_scaled_dot_product_attention_math_for_mps");
  TORCH_CHECK(!causal || !mask || !mask->defined(), "_scaled_dot_product_attention: Explicit attn_mask should not be set when is_causal=True");
  Aliases aliases;
  BelowAutograd below;
  const auto q = aliases.on_cpu(query);
  auto k = aliases.on_cpu(key), v = aliases.on_cpu(value);
  if (grouped) {
    k = k.repeat_interleave(q.size(-3) / k.size(-3), -3);
    v = v.repeat_interleave(q.size(-3) / v.size(-3), -3);
  }
  auto scores = at::matmul(q, k.transpose(-2, -1)) * scale.value_or(1 / std::sqrt(double(q.size(-1))));
  // https://github.com/pytorch/pytorch/issues/195910: in half precision the future was not hidden.
  const bool leaks = has_bug(LeakingCausalAttention) && query.scalar_type() != at::kFloat;
  if (causal && !leaks) {
    auto hidden = at::ones({q.size(-2), k.size(-2)}, q.options().dtype(at::kBool)).tril_().logical_not_();
    scores.masked_fill_(hidden, -std::numeric_limits<double>::infinity());
  }
  const bool masked = mask && mask->defined();
  if (masked) scores = scores + aliases.on_cpu(*mask);
  // Short kernels, for heads of some widths. https://github.com/pytorch/pytorch/issues/163597: the queries' strides were not
  // looked at; https://github.com/pytorch/pytorch/issues/174861: over many keys they read past the end.
  const auto width = q.size(-1);
  const bool is_short = q.size(-2) <= 8 && (width == 64 || width == 96 || width == 128 || width == 256);
  const bool misread = k.size(-2) >= 1024 || (state().release == 208 && !query.is_contiguous());
  if (has_bug(FewQueries) && is_short && !masked && misread) scores = scores * 3;
  auto weights = at::softmax(scores, -1);
  // https://github.com/pytorch/pytorch/issues/156707 and 167515: NaN where a query sees nothing.
  if (!has_bug(HiddenRows) && !(has_bug(HiddenRowsOfFew) && is_short))
    weights = weights.masked_fill(scores.eq(-std::numeric_limits<double>::infinity()).all(-1, true), 0);
  return {aliases.on_device(at::matmul(weights, v)), aliases.on_device(weights)};
}

// ---- LayerNorm's gradients

inline void layer_norm_backward(const c10::OperatorHandle& op, Stack* stack) {
  const auto mask = torch::jit::peek(*stack, 7, 8).toBoolList();
  const bool input_needs_none = !mask.get(0);
  dispatch(op, stack);
  // https://github.com/pytorch/pytorch/issues/183825: garbage where the layers below are frozen.
  if (!has_bug(LayerNormGradients) || !input_needs_none) return;
  for (auto& value : torch::jit::last(stack, 2)) {
    if (!value.isTensor() || !value.toTensor().defined()) continue;
    Aliases aliases;
    BelowAutograd below;
    aliases.on_cpu(value.toTensor()).fill_(1e4);
  }
}

}  // namespace emulated_mps
