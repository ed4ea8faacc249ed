// A runtime as owner of completion objects: handles objects that are destroyed while its operations name
// them.
//
// Receives without a message are cancelled. Operations in which a peer may take part continue, signal
// DetachedOperations instead, and are awaited: their buffers are usually destroyed next.
#pragma once

#include "core/completion/object_end.hpp"
#include "core/runtime/open_device.hpp"

#include <weft/completion/completion.hpp>

#include <memory>
#include <mutex>
#include <span>
#include <vector>

namespace weft::detail {

class RuntimeState;

class ObjectEnds final : private core::OperationOwner {
 public:
  explicit ObjectEnds(RuntimeState& runtime) noexcept : runtime_(runtime) {}

  /// From now on objects that are destroyed are looked for in the runtime; until end().
  void begin() { core::OperationOwners::all().add(*this); }
  void end() noexcept { core::OperationOwners::all().remove(*this); }
  /// Keeps a completion object until no operation may signal it any more.
  void destroy_at_end(std::unique_ptr<Completion> completion) noexcept;

 private:
  [[nodiscard]] bool may_name(const Completion& object) noexcept override;
  void forget_object(Completion& object) noexcept override;
  void await_detached(const core::DetachedOperations& detached,
                      std::span<OpenDevice* const> devices) noexcept;
  void report_detached(std::unique_ptr<core::DetachedOperations> detached, const Completion& object) noexcept;

  RuntimeState& runtime_;
  std::mutex mutex_;  // guards the member below
  std::vector<std::unique_ptr<Completion>> retained_completions_;
};

}  // namespace weft::detail
