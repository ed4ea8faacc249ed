// What tasks and threads of a runtime wait for, for `weft run --explain`.
#pragma once

#include <weft/wait_source.hpp>

#include <cstdint>
#include <map>
#include <string>
#include <utility>

namespace weft::parcel {

namespace detail {
class Core;
}

class TaskWaits final : public weft::detail::WaitSource {
 public:
  explicit TaskWaits(detail::Core& core);
  ~TaskWaits();
  TaskWaits(const TaskWaits&) = delete;
  TaskWaits& operator=(const TaskWaits&) = delete;

  void list(void (*add)(void* context, const weft::detail::DescribedWait& wait), void* context) override;

 private:
  /// What is behind a future: a call to a rank, a value of a channel.
  [[nodiscard]] std::string describe(const char* what, const void* subject, std::int32_t& peer);

  detail::Core& core_;
  // When a wait was first seen, by task and its count of waits: beginning one reads no clock.
  std::map<std::pair<std::size_t, std::uint64_t>, std::int64_t> seen_;
};

}  // namespace weft::parcel
