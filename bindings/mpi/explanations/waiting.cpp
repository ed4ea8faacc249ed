#include "bindings/mpi/explanations/waiting.hpp"

#include "bindings/mpi/callers/place.hpp"
#include "bindings/mpi/communicators/known.hpp"
#include "bindings/mpi/explanations/long_wait.hpp"
#include "bindings/mpi/transport/matching.hpp"

#include <weft/binding/call_context.hpp>
#include <weft/wait_source.hpp>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <list>
#include <mutex>
#include <optional>

namespace weft::mpi {

bool waits_are_explained = false;

namespace {

/// Waits that are shorter are not worth the words.
constexpr auto kShort = std::chrono::milliseconds(5);
/// What explanations ask MPI for.
class Waits final : public detail::WaitSource {
 public:
  explicit Waits(int rank) : WaitSource(rank) { enter(); }
  Waits(const Waits&) = delete;
  Waits& operator=(const Waits&) = delete;
  ~Waits() { remove(); }

  using Entry = std::list<LongWait>::iterator;
  Entry begin(LongWait&& wait) {
    const std::lock_guard lock(mutex_);
    const Entry entry = waits_.insert(waits_.end(), std::move(wait));
    entry->detail.step_name = entry->step_name.c_str();
    return entry;
  }
  void end(Entry entry) {
    const std::lock_guard lock(mutex_);
    waits_.erase(entry);
  }

  void list(void (*)(void*, const detail::DescribedWait&), void*) override {}

  bool find_detail(const char* what, detail::WaitDetail& detail) override {
    const std::lock_guard lock(mutex_);
    const auto found =
        std::ranges::find_if(waits_, [&](const LongWait& wait) { return wait.what.c_str() == what; });
    if (found == waits_.end()) return false;
    detail = found->detail;
    return true;
  }

  bool name_tag(const detail::MessageKey& message, std::span<char> text) override {
    if (message.engine != static_cast<std::uint32_t>(kEngine)) return false;
    const auto context = static_cast<std::uint32_t>(message.tag >> 32);
    if ((context & kPartitionedContext) != 0) {
      std::snprintf(text.data(), text.size(), "the tag of partition %d of a partitioned message",
                    tag_of_key(message.tag));
      return true;
    }
    return visit_communicator(context & ~3U, [&](const Communicator& communicator) {
      const std::string name = communicator.described();
      const int number = tag_of_key(message.tag);
      if ((context & 2) != 0 && number < 0) {
        const char* const of =
            (context & 3) == 2 ? "of a partitioned message" : "by which a communicator is made";
        std::snprintf(text.data(), text.size(), "tag %d %s, on %s", number & kLargestTag, of, name.c_str());
        return;
      }
      if ((context & 3) != 0) {
        const char* const of =
            is_of_histories(context, number) ? "history of collectives" : "tag of a collective";
        std::snprintf(text.data(), text.size(), "the %s on %s", of, name.c_str());
        return;
      }
      const bool has_tag = static_cast<std::uint32_t>(message.tag_mask) != 0;
      const std::string tag = has_tag ? "tag " + std::to_string(number) : "any tag";
      const int rank = message.peer < 0 ? -1 : communicator.peers().rank_of(message.peer);
      const std::string there =
          rank >= 0 && rank != message.peer ? " (rank " + std::to_string(rank) + " there)" : "";
      std::snprintf(text.data(), text.size(), "%s on %s%s", tag.c_str(), name.c_str(), there.c_str());
    });
  }

  void list_sequences(void (*add)(void*, const detail::SequenceState&), void* context) override {
    visit_communicators([&](const Communicator& communicator) {
      const std::string name = communicator.described();
      for (const int which : {0, 1}) {
        const std::string call = last_call(communicator, which);
        add(context, {sequence_of(communicator.context, which),
                      communicator.collectives[which].load(std::memory_order_relaxed) / 2, name.c_str(),
                      call.c_str()});
      }
    });
  }

 private:
  std::mutex mutex_;
  std::list<LongWait> waits_;
};

std::optional<Waits> waits;

/// "MPI_COMM_WORLD"; where there is no line of the source, with the function that has called.
std::string object_text(const Communicator* communicator, const Place& place) {
  std::string text = communicator != nullptr ? communicator->described() : "";
  if (place.line == 0 && !place.function.empty())
    text += (text.empty() ? "a request (called at " : " (called at ") + place.function + ")";
  return text;
}

}  // namespace

void open_explanations() {
  const auto is_set = [](const char* attribute) {
    const std::string value = world->runtime.attribute(attribute);
    return value != "no" && value != "0" && !value.starts_with("0s");
  };
  waits_are_explained =
      std::getenv("WEFT_EXPLAIN_SOCKET") != nullptr || is_set("explain") || is_set("explain_after");
  if (waits_are_explained) waits.emplace(own_world_rank);
}

void close_explanations() noexcept {
  waits_are_explained = false;
  waits.reset();
}

void wait_explained(bool (*holds)(const void*) noexcept, const void* context, Completion* completion,
                    const WaitPurpose& purpose) noexcept {
  // Once it holds it is not asked again: a matched probe that has found a message has taken it.
  if (world->endpoint.wait_condition({holds, context, completion, {current_call, {}, -1, false, false}},
                                     kShort))
    return;
  const Waits::Entry wait = waits->begin(long_wait(purpose));
  const Place& place = place_of(current_caller);
  const std::string object = object_text(purpose.communicator, place);
  const CallContext call(current_call, object.c_str(), place.file.c_str(), place.line);
  const bool is_whole =
      purpose.what == WaitPurpose::What::collective || purpose.what == WaitPurpose::What::program;
  world->endpoint.wait_condition(
      {holds, context, completion, {wait->what.c_str(), {}, wait->detail.peer, false, is_whole}});
  waits->end(wait);
}

void wait_for_all_ranks() {
  const Place unknown;
  const Place& place = waits_are_explained ? place_of(current_caller) : unknown;
  const CallContext call(current_call, nullptr, place.file.c_str(), place.line);
  world->runtime.barrier();
}

}  // namespace weft::mpi
