// Every operator that arrives at the device: refused, or run by the CPU's kernel on the same memory.
#pragma once
#include "aliases.h"
#include "hooks.h"
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>
#include <c10/util/hash.h>

namespace emulated_mps {
using torch::jit::Stack;

inline std::string full_name(const c10::OperatorName& name) {
  return name.overload_name.empty() ? name.name : name.name + "." + name.overload_name;
}

inline Coverage coverage_of(const std::string& name) {
  auto& s = state();
  std::lock_guard<std::mutex> lock(s.mutex);
  auto found = s.coverage.find(name);
  return found == s.coverage.end() ? Coverage::Fallback : found->second;
}

// One graph for each combination of operator, shapes and dtypes.
inline void compile_graph(const std::string& name, const Stack& stack, size_t arguments) {
  size_t key = std::hash<std::string>()(name);
  auto add = [&](const at::Tensor& tensor) {
    if (!on_mps(tensor)) return;
    key = c10::hash_combine(key, size_t(tensor.scalar_type()));
    for (auto size : tensor.sizes()) key = c10::hash_combine(key, size_t(size));
  };
  for (auto& value : torch::jit::last(stack, arguments)) {
    if (value.isTensor()) add(value.toTensor());
    else if (value.isTensorList()) for (const auto& tensor : value.toTensorVector()) add(tensor);
  }
  ledger().compile_graph(key);
}

[[noreturn]] inline void refuse(const std::string& name) {
  const int release = state().release;
  if (release >= 206)
    TORCH_CHECK_NOT_IMPLEMENTED(
        false, "The operator '", name, "' is not currently implemented for the MPS device. If you want this op to be considered "
        "for addition please comment on https://github.com/pytorch/pytorch/issues/141287 and mention use-case, that resulted in "
        "missing op as well as commit hash (emulated). As a temporary fix, you can set the environment variable "
        "`PYTORCH_ENABLE_MPS_FALLBACK=1` to use the CPU as a fallback for this op. WARNING: this will be slower than running "
        "natively on MPS.");
  TORCH_CHECK_NOT_IMPLEMENTED(
      false, "The operator '", name, "' is not ", release >= 113 ? "currently" : "current", " implemented for the MPS device. If you "
      "want this op to be added in priority during the prototype phase of this feature, please comment on "
      "https://github.com/pytorch/pytorch/issues/77764. As a temporary fix, you can set the environment variable "
      "`PYTORCH_ENABLE_MPS_FALLBACK=1` to use the CPU as a fallback for this op. WARNING: this will be slower than running "
      "natively on MPS.");
}

// Once in a process, whichever operator is first: real releases never name the second.
inline void warn_of_fallback(const std::string& name) {
  bool first;
  {
    std::lock_guard<std::mutex> lock(state().mutex);
    first = !state().warned;
    state().warned = true;
  }
  if (first)
    TORCH_WARN("The operator '", name, "' is not currently supported on the MPS backend and will fall back to run on the CPU. "
               "This may have performance implications.");
}

// Tensors on both devices in one call are an error, but for operators that take indices or copy between devices.
inline bool may_mix_devices(const std::string& name) {
  static const std::unordered_set<std::string> names{
      "aten::index", "aten::index_put", "aten::index_put_", "aten::_index_put_impl_", "aten::_unsafe_index",
      "aten::_unsafe_index_put", "aten::copy_", "aten::_copy_from", "aten::_copy_from_and_resize"};
  return names.count(name) > 0;
}

inline bool draws_without_generator(const c10::OperatorHandle& op) {
  for (const auto& argument : op.schema().arguments())
    if (argument.name() == "generator") return false;
  for (auto tag : op.getTags())
    if (tag == at::Tag::nondeterministic_seeded) return true;
  return false;
}

inline bool returns_view(const c10::FunctionSchema& schema) {
  for (const auto& result : schema.returns())
    if (result.alias_info() && !result.alias_info()->isWrite()) return true;
  return false;
}

// One call on its way to the CPU's kernel and back.
class CpuCall {
 public:
  CpuCall(const c10::OperatorHandle& op, Stack* stack) : schema_(op.schema()), stack_(stack) {}

  // Replace the arguments on the stack by their CPU aliases.
  void send_arguments() {
    const auto& arguments = schema_.arguments();
    given_ = torch::jit::pop(*stack_, arguments.size());
    for (size_t i = 0; i < given_.size(); i++) stack_->emplace_back(to_cpu(given_[i], arguments[i]));
    if (saw_device_ && saw_cpu_ && !may_mix_devices(schema_.name())) {
      torch::jit::drop(*stack_, given_.size());
      TORCH_CHECK(false, "Expected all tensors to be on the same device, but found at least two devices, mps:0 and cpu! "
                  "(when checking arguments of ", schema_.name(), ")");
    }
  }

  // Replace the results on the stack by tensors of the device.
  void fetch_results() {
    for (auto& [tensor, alias] : written_) Aliases::follow_resize(tensor, alias);
    const auto& returns = schema_.returns();
    auto results = torch::jit::pop(*stack_, returns.size());
    for (size_t i = 0; i < results.size(); i++) stack_->emplace_back(to_device(results[i], returns[i]));
  }

 private:
  c10::IValue to_cpu(const c10::IValue& value, const c10::Argument& argument) {
    const bool writes = argument.alias_info() && argument.alias_info()->isWrite();
    if (value.isTensor()) return tensor_to_cpu(value.toTensor(), writes);
    if (value.isTensorList()) {
      c10::List<at::Tensor> list;
      for (const auto& tensor : value.toTensorVector()) list.push_back(tensor_to_cpu(tensor, writes));
      return list;
    }
    if (value.isOptionalTensorList()) {
      c10::List<std::optional<at::Tensor>> list;
      for (const auto& tensor : value.toOptionalTensorVector())
        list.push_back(tensor ? std::optional<at::Tensor>(tensor_to_cpu(*tensor, writes)) : std::nullopt);
      return list;
    }
    if (value.isDevice() && value.toDevice().is_mps()) return c10::Device(c10::kCPU);
    if (value.isGenerator()) return for_cpu(value.toGenerator());
    if (value.isNone() && argument.name() == "generator") return for_cpu(default_generator());
    return value;
  }

  at::Tensor tensor_to_cpu(const at::Tensor& tensor, bool writes) {
    if (!on_mps(tensor)) {
      saw_cpu_ = saw_cpu_ || (tensor.defined() && tensor.device().is_cpu() && tensor.dim() > 0);
      return tensor;
    }
    saw_device_ = true;
    auto alias = aliases_.on_cpu(tensor);
    if (writes) written_.emplace_back(tensor, alias);
    return alias;
  }

  c10::IValue to_device(const c10::IValue& value, const c10::Argument& result) {
    if (result.alias_info() && result.alias_info()->isWrite()) return written_argument(*result.alias_info());
    if (value.isTensor()) return aliases_.on_device(value.toTensor());
    if (value.isTensorList()) {
      c10::List<at::Tensor> list;
      for (const auto& tensor : value.toTensorVector()) list.push_back(aliases_.on_device(tensor));
      return list;
    }
    return value;
  }

  // In-place and out= operators return what they were given.
  c10::IValue written_argument(const c10::AliasInfo& alias) {
    for (size_t i = 0; i < given_.size(); i++) {
      const auto* own = schema_.arguments()[i].alias_info();
      if (own && *own == alias) return given_[i];
    }
    TORCH_INTERNAL_ASSERT(false, schema_.name(), " returns a tensor that it was not given");
  }

  const c10::FunctionSchema& schema_;
  Stack* stack_;
  Aliases aliases_;
  std::vector<c10::IValue> given_;
  c10::SmallVector<std::pair<at::Tensor, at::Tensor>, 4> written_;  // (device, cpu alias)
  bool saw_device_ = false, saw_cpu_ = false;
};

inline void run_on_cpu(const c10::OperatorHandle& op, Stack* stack) {
  // Views touch metadata only: the CPU's kernel makes them from tensors of the device as they are.
  if (returns_view(op.schema())) {
    op.redispatchBoxed(kCpuKeys, stack);
    return;
  }
  CpuCall call(op, stack);
  call.send_arguments();
  {
    BorrowDefaultGenerator borrowed(draws_without_generator(op));
    op.redispatchBoxed(kCpuKeys, stack);
  }
  call.fetch_results();
}

// Collectives, of which the device has none. https://github.com/pytorch/pytorch/issues/173808: up to 2.10 the fallback sent copies,
// and what came back was never put where it belongs. Since then they raise whatever the environment says.
inline c10::IValue copied_to_cpu(const c10::IValue& value) {
  if (value.isTensor()) return on_mps(value.toTensor()) ? c10::IValue(value.toTensor().cpu()) : value;
  if (!value.isTensorList()) return value;  // lists of lists stay, as in torch's own fallback, and Gloo refuses them
  c10::List<at::Tensor> list;
  for (const auto& tensor : value.toTensorVector()) list.push_back(on_mps(tensor) ? tensor.cpu() : tensor);
  return list;
}

inline void collective(const c10::OperatorHandle& op, const std::string& name, Stack* stack) {
  TORCH_CHECK_NOT_IMPLEMENTED(
      state().release < 211, "The distributed operator '", name, "' is not currently implemented for the MPS device. If you want this "
      "op to be considered for addition please comment on https://github.com/pytorch/pytorch/issues/141287 and mention use-case, "
      "that resulted in missing op as well as commit hash (emulated). Please note, that distributed operators can not fall back to CPU");
  if (!state().fallback || !has_bug(LostCollectives)) refuse(name);
  warn_of_fallback(name);
  for (auto& argument : torch::jit::last(*stack, op.schema().arguments().size()))
    const_cast<c10::IValue&>(argument) = copied_to_cpu(argument);
  op.redispatchBoxed(kCpuKeys, stack);
}

// Where every operator without a kernel of its own arrives.
inline void dispatch(const c10::OperatorHandle& op, Stack* stack) {
  const auto name = full_name(op.operator_name());
  if (op.operator_name().getNamespace().value_or("") == "c10d") return collective(op, name, stack);
  record(name);
  const auto coverage = coverage_of(name);
  if (coverage == Coverage::Native) {
    if (!returns_view(op.schema())) compile_graph(name, *stack, op.schema().arguments().size());
    run_on_cpu(op, stack);
    return;
  }
  if (coverage != Coverage::AlwaysCpu && !state().fallback) refuse(name);
  warn_of_fallback(name);
  const double started = milliseconds();
  run_on_cpu(op, stack);
  std::lock_guard<std::mutex> lock(state().mutex);
  auto& usage = state().fallbacks[name];
  usage.calls++;
  usage.seconds += (milliseconds() - started) / 1000;
}

}  // namespace emulated_mps
