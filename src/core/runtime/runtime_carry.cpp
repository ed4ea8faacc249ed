// What was accepted leaves while a thread waits for other ranks and not for its devices: Runtime::barrier()
// and allgather().
#include "base/clock.hpp"
#include "core/completion/object_end.hpp"
#include "core/runtime/runtime_state.hpp"
#include "core/wait/unwoken_sleep.hpp"

#include <algorithm>
#include <future>
#include <memory>
#include <shared_mutex>
#include <system_error>
#include <vector>

namespace weft::detail {

namespace {

/// The open devices; they do not end meanwhile.
class VisitedDevices {
 public:
  explicit VisitedDevices(const std::vector<OpenDevice*>& open) : devices_(open) {
    for (OpenDevice* device : devices_) device->attached_threads().attach();
  }
  ~VisitedDevices() {
    for (OpenDevice* device : devices_) device->attached_threads().detach();
  }
  VisitedDevices(const VisitedDevices&) = delete;
  VisitedDevices& operator=(const VisitedDevices&) = delete;

  /// Returns true when something that was refused is left, which no network carries on by itself.
  [[nodiscard]] bool carry() noexcept {
    return std::count_if(devices_.begin(), devices_.end(), [](OpenDevice* each) { return each->carry(); }) !=
           0;
  }

 private:
  const std::vector<OpenDevice*> devices_;
};

}  // namespace

void RuntimeDevices::carry_during(const std::function<void()>& call) {
  const auto visited = [this] {
    const std::shared_lock asking(core::OperationOwners::all().lock().own());
    return std::make_unique<VisitedDevices>(visited_);
  };
  if (!visited()->carry()) return call();
  // Peers may wait for messages that were accepted and refused by the network since, before they call as
  // well: this thread posts them again while another one makes the call.
  std::future<void> called;
  try {
    called = std::async(std::launch::async, call);
  } catch (const std::system_error&) {
    return call();  // there is no thread to be had
  }
  const std::int64_t since = base::now_ns();
  while (called.wait_for(unwoken_sleep(base::now_ns() - since)) != std::future_status::ready)
    if (!visited()->carry()) break;
  called.get();
}

}  // namespace weft::detail
