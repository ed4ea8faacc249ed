#include "objects.hpp"

#include <weft/completion/counter.hpp>
#include <weft/completion/queue.hpp>
#include <weft/completion/synchronizer.hpp>

using namespace weft::c;

namespace {

/// Calls a function of the program.
class ProgramHandler final : public weft::Completion {
 public:
  ProgramHandler(weft_handler handler, void* context) noexcept : handler_(handler), context_(context) {}
  ~ProgramHandler() override { retire(); }
  void signal(weft::Message& message) noexcept override {
    handler_(context_, reinterpret_cast<const weft_message*>(&message));
  }
  [[nodiscard]] bool ready() const noexcept override { return true; }

 private:
  const weft_handler handler_;
  void* const context_;
};

template <class Object, class... Arguments>
std::unique_ptr<weft_completion> made(weft_completion::Kind kind, Arguments&&... arguments) {
  return std::make_unique<weft_completion>(kind,
                                           std::make_unique<Object>(std::forward<Arguments>(arguments)...));
}

}  // namespace

extern "C" {

weft_result weft_queue_create(const weft_queue_options* given, weft_completion** queue) {
  return create(__func__, queue, "queue", [&] {
    const weft_queue_options options = options_of(given, "options");
    weft::QueueOptions own;
    if (options.capacity != 0) own.capacity = options.capacity;
    if (options.initial != 0) own.initial = options.initial;
    own.capacity_bytes = options.capacity_bytes;
    return made<weft::CompletionQueue>(weft_completion::Kind::queue, own);
  });
}

weft_result weft_queue_pop(weft_completion* queue, weft_message* message) {
  return guarded(__func__, [&]() -> weft_result {
    auto& object = of_kind<weft::CompletionQueue>(queue, "queue");
    present(message, "message");
    weft::Message popped;
    if (!object.pop(popped)) return WEFT_NOTHING;
    store(*message, std::move(popped));
    return WEFT_OK;
  });
}

weft_result weft_counter_create(weft_completion** counter) {
  return create(__func__, counter, "counter",
                [] { return made<weft::Counter>(weft_completion::Kind::counter); });
}

uint64_t weft_counter_value(const weft_completion* counter) {
  return guarded_or<uint64_t>(__func__, 0,
                              [&] { return of_kind<weft::Counter>(counter, "counter").value(); });
}

weft_result weft_counter_reset(weft_completion* counter) {
  return guarded(__func__, [&] {
    of_kind<weft::Counter>(counter, "counter").reset();
    return WEFT_OK;
  });
}

weft_result weft_synchronizer_create(uint32_t signals, weft_completion** synchronizer) {
  return create(__func__, synchronizer, "synchronizer",
                [&] { return made<weft::Synchronizer>(weft_completion::Kind::synchronizer, signals); });
}

int weft_synchronizer_ready(const weft_completion* synchronizer) {
  return guarded(__func__,
                 [&] { return of_kind<weft::Synchronizer>(synchronizer, "synchronizer").test() ? 1 : 0; });
}

const weft_message* weft_synchronizer_message(weft_completion* synchronizer, uint32_t number) {
  return guarded_or<const weft_message*>(__func__, nullptr, [&]() -> const weft_message* {
    auto& object = of_kind<weft::Synchronizer>(synchronizer, "synchronizer");
    if (number >= object.signals())
      throw BadArgument("number is " + std::to_string(number) + ": it must be 0 to " +
                        std::to_string(object.signals() - 1));
    if (!object.ready()) return nullptr;
    return reinterpret_cast<const weft_message*>(&object.messages()[number]);
  });
}

weft_result weft_synchronizer_reset(weft_completion* synchronizer) {
  return guarded(__func__, [&] {
    auto& object = of_kind<weft::Synchronizer>(synchronizer, "synchronizer");
    if (!object.ready()) throw BadArgument("synchronizer has a round that is not complete");
    object.reset();
    return WEFT_OK;
  });
}

weft_result weft_handler_create(weft_handler handler, void* context, weft_completion** completion) {
  return create(__func__, completion, "completion", [&] {
    if (handler == nullptr) throw BadArgument("handler is null");
    return made<ProgramHandler>(weft_completion::Kind::handler, handler, context);
  });
}

weft_result weft_completion_destroy(weft_completion* completion) {
  return destroy(__func__, completion, "completion", [](const weft_completion& which) {
    refuse_borrowed(which.kind == weft_completion::Kind::graph, "completion", "a graph");
  });
}

weft_result weft_expose(weft_runtime* runtime, weft_completion* completion, const weft_expose_options* given,
                        weft_remote* remote) {
  return guarded(__func__, [&] {
    const weft_expose_options options = options_of(&present(given, "options"), "options");
    present(remote, "remote");
    *remote =
        present(runtime, "runtime")
            .runtime
            .expose(*present(completion, "completion").object, {.id = options.id, .device = options.device})
            .bits();
    return WEFT_OK;
  });
}

weft_result weft_withdraw(weft_completion* completion) {
  return guarded(__func__, [&] {
    present(completion, "completion").object->withdraw();
    return WEFT_OK;
  });
}

weft_remote weft_remote_on_device(weft_remote remote, uint32_t device) {
  return guarded_or<weft_remote>(__func__, 0, [&] { return remote_of(remote).on_device(device).bits(); });
}

}  // extern "C"
