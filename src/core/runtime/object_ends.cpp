#include "core/runtime/object_ends.hpp"

#include "core/completion/immediate_completions.hpp"
#include "core/runtime/runtime_state.hpp"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <shared_mutex>
#include <string>
#include <thread>

namespace weft::detail {

using base::Attribute;

namespace {

constexpr std::size_t kNamedOperations = 64;
constexpr int kYieldsOfEnd = 32;  // rounds, before it sleeps in between

/// Returns a text such as "2 sends, 1 put to rank 3" that lists the operations that signal the object.
std::string operations_of(const core::PendingList& list, const void* object) {
  std::string text;
  for (std::size_t kind = 0; kind < core::kPendingKinds; ++kind) {
    std::size_t count = 0;
    std::int32_t peer = core::PendingOperation::kAnybody;
    for (const core::PendingOperation& operation : list.operations())
      if (operation.completion == object && operation.kind == static_cast<core::PendingKind>(kind)) {
        ++count;
        peer = operation.peer;
      }
    if (count == 0) continue;
    text += (text.empty() ? "" : ", ") + std::to_string(count) + " " +
            core::to_string(static_cast<core::PendingKind>(kind)) + (count == 1 ? "" : "s");
    if (count == 1 && peer >= 0) text += " with rank " + std::to_string(peer);
  }
  return text;
}

}  // namespace

bool ObjectEnds::may_name(const Completion& object) noexcept {
  if (runtime_.failures().may_name(object)) return true;
  bool found = false;
  // Most objects are not noted, and need no search through the receives.
  if (NamedCompletion::is_noted(object)) {
    runtime_.matching_engines().for_each_used(
        [&](const core::MatchingEngine& engine) { found = found || engine.may_name(object); });
    for (const core::Deadlines* deadlines : runtime_.accounts().made_deadlines())
      found = found || deadlines->may_name(object);
  }
  for (const OpenDevice* device : runtime_.devices().visited()) found = found || device->may_name(object);
  return found;
}

void ObjectEnds::forget_object(Completion& object) noexcept {
  auto detached = std::make_unique<core::DetachedOperations>();
  runtime_.failures().unwatch(object);
  std::vector<OpenDevice*> devices;
  std::vector<core::Deadlines*> deadlines;
  bool has_deadline = false;
  {
    const std::shared_lock asking(core::OperationOwners::all().lock().own());
    deadlines = runtime_.accounts().made_deadlines();
    // What waits in a backlog may name the object by the node of a deadline.
    const bool may_be_queued =
        std::ranges::any_of(deadlines, [&](const core::Deadlines* each) { return each->may_name(object); });
    for (OpenDevice* device : runtime_.devices().visited())
      if (may_be_queued || device->may_name(object)) {
        device->attached_threads().attach();
        devices.push_back(device);
      }
    for (core::Deadlines* each : deadlines)
      each->pass_on(object, *detached, [&](const core::Deadlines::Node&) {
        detached->add();
        has_deadline = true;
      });
  }
  const auto is_passed_on = [&](const Completion* completion) {
    return std::ranges::any_of(
        deadlines, [&](const core::Deadlines* each) { return each->passes_on(completion, *detached); });
  };
  runtime_.matching_engines().for_each_used([&](core::MatchingEngine& engine) {
    if (has_deadline || engine.may_name(object)) engine.forget_object(object, *detached, is_passed_on);
  });
  for (OpenDevice* device : devices) device->forget_object(object, *detached);
  await_detached(*detached, devices);
  for (OpenDevice* device : devices) device->attached_threads().detach();
  if (!detached->ready()) report_detached(std::move(detached), object);
}

/// Waits until the operations that continue without the object have ended, as far as waiting is allowed.
void ObjectEnds::await_detached(const core::DetachedOperations& detached,
                                std::span<OpenDevice* const> devices) noexcept {
  if (detached.ready()) return;
  // A thread inside the runtime may have read the object that it signals before that was changed.
  runtime_.devices().quiesce();
  if (core::SignalScope::is_inside()) return;
  const auto limit = std::chrono::duration<double>(runtime_.attributes().seconds(Attribute::drain_timeout));
  const auto end = std::chrono::steady_clock::now() + limit;
  for (int round = 0; !detached.ready() && std::chrono::steady_clock::now() < end; ++round) {
    for (OpenDevice* device : devices) device->progress_for_end();
    if (round < kYieldsOfEnd)
      std::this_thread::yield();
    else
      std::this_thread::sleep_for(std::chrono::microseconds(50));
  }
}

void ObjectEnds::report_detached(std::unique_ptr<core::DetachedOperations> detached,
                                 const Completion& object) noexcept {
  core::PendingList list(kNamedOperations);
  std::vector<std::string> notes;
  runtime_.describe(list, notes);
  const std::string named = operations_of(list, detached.get());
  char address[32];
  static_cast<void>(std::snprintf(address, sizeof address, "%p", static_cast<const void*>(&object)));
  runtime_.log().warn(
      "completion object " + std::string(address) + " dies while " + std::to_string(detached->left()) +
      (detached->left() == 1 ? " operation that names it is" : " operations that name it are") +
      " under way" + (named.empty() ? "" : " (" + named + ")") +
      "; they end without a signal, and until then their buffers must stay");
  destroy_at_end(std::move(detached));
}

void ObjectEnds::destroy_at_end(std::unique_ptr<Completion> completion) noexcept {
  const std::lock_guard lock(mutex_);
  retained_completions_.push_back(std::move(completion));
}

}  // namespace weft::detail
