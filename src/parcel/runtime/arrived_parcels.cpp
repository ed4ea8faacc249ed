// What Core does with the messages that a parcelport gives it.
#include <cstdio>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include <weft/parcel/exceptions.hpp>

#include "parcel/runtime/core.hpp"

namespace weft::parcel::detail {

namespace {

thread_local Runtime* decodes_for = nullptr;

/// While it lives, what the thread decodes belongs to the runtime.
class DecodesFor {
 public:
  explicit DecodesFor(Runtime& runtime) noexcept : before_(std::exchange(decodes_for, &runtime)) {}
  ~DecodesFor() { decodes_for = before_; }
  DecodesFor(const DecodesFor&) = delete;
  DecodesFor& operator=(const DecodesFor&) = delete;

 private:
  Runtime* const before_;
};

void log_line(int rank, const std::string& text) noexcept {
  std::fprintf(stderr, "weft: rank %d: parcel: %s\n", rank, text.c_str());
}

std::string text_of_current_exception() {
  try {
    throw;
  } catch (const std::exception& error) {
    return error.what();
  } catch (...) {
    return "an exception that is no std::exception";
  }
}

}  // namespace

Runtime* decoding_runtime() noexcept { return decodes_for; }

/// An answer that has been decoded, or why it could not be.
struct DecodedAnswer final : DecodedParcel {
  DecodedAnswer() noexcept : DecodedParcel(&run) {}
  ~DecodedAnswer() override { end(std::make_exception_ptr(MalformedParcel("the answer could not be read"))); }
  static void run(Task& task) noexcept {
    auto& self = static_cast<DecodedAnswer&>(task);
    if (!self.error && self.call.state != nullptr) {
      FutureStateBase* const state = std::exchange(self.call.state, nullptr);
      self.call.operations->finish(*state);
      state->release();
    }
    delete &self;
  }
  /// Ends the call with its error, or with `otherwise`, unless it has ended.
  void end(std::exception_ptr otherwise) noexcept {
    FutureStateBase* const state = std::exchange(call.state, nullptr);
    if (state == nullptr) return;
    state->set_exception(error ? std::move(error) : std::move(otherwise));
    state->release();
  }
  PendingCall call;
  std::exception_ptr error;
};

namespace {

/// Stands for a parcel that could not be decoded: its chunks land here, and nobody reads them.
struct UnreadParcel final : DecodedParcel {
  explicit UnreadParcel(std::unique_ptr<DecodedParcel> parcel)
      : DecodedParcel(&run), answer(std::move(parcel)) {}
  static void run(Task& task) noexcept {
    auto& self = static_cast<UnreadParcel&>(task);
    if (self.answer) {
      DecodedParcel& ended = *self.answer.release();
      ended.execute(ended);
    }
    delete &self;
  }
  std::unique_ptr<DecodedParcel> answer;  // if it is one, with its error
  std::vector<std::unique_ptr<std::byte[]>> rooms;
};

/// Runs a decoded parcel, and counts it.
struct Counted final : Task {
  Counted(Core& who, DecodedParcel& what) noexcept : Task(&run), core(who), parcel(what) {}
  static void run(Task& task) noexcept {
    auto& self = static_cast<Counted&>(task);
    const int source = self.parcel.source;
    TaskStack& stack = *TaskStack::current();
    stack.caller = source;
    self.parcel.execute(self.parcel);
    stack.caller = -1;
    self.core.count_finished(source, stack.worker->number);
    delete &self;
  }
  Core& core;
  DecodedParcel& parcel;
};

}  // namespace

BackgroundWork::Parcels Core::choose_parcel(Task& task, const BlockedKinds& blocked,
                                            const void*& kind) noexcept {
  if (auto* const batch = ParcelBatch::of(task); batch != nullptr) {
    const void* first = nullptr;
    const bool has_chosen = batch->choose([&](std::uint32_t action) {
      const void* const called = actions_.find(action);
      if (first == nullptr) first = called;
      if (blocked.contains(called)) return false;
      kind = called;
      return true;
    });
    if (!has_chosen) kind = first;
    return has_chosen ? Parcels::chosen : Parcels::held_back;
  }
  if (task.execute != &Counted::run) return Parcels::none;
  const DecodedParcel& parcel = static_cast<Counted&>(task).parcel;
  if (dynamic_cast<const DecodedAnswer*>(&parcel) != nullptr ||
      dynamic_cast<const UnreadParcel*>(&parcel) != nullptr)
    return Parcels::chosen;
  kind = reinterpret_cast<const void*>(parcel.execute);
  return blocked.contains(kind) ? Parcels::held_back : Parcels::chosen;
}

const ActionEntry& Core::action_of(const ParsedParcel& parcel) const {
  const ActionEntry* const entry = actions_.find(parcel.action);
  if (entry == nullptr)
    Reader::malformed("a parcel names an action that this rank does not have, or whose library was unloaded");
  return *entry;
}

std::unique_ptr<DecodedAnswer> Core::decode_answer(int source, const ParsedParcel& parcel, Reader& reader) {
  auto answer = std::make_unique<DecodedAnswer>();
  answer->call = calls_.take(parcel.call, source);
  if (answer->call.state == nullptr) {
    late_.fetch_add(1, std::memory_order_relaxed);
    answer->error = std::make_exception_ptr(MalformedParcel("nobody waits for the answer"));
    return answer;
  }
  try {
    std::uint8_t is_error = 0;
    reader(is_error);
    if (is_error != 0) {
      answer->error = read_exception(reader, source, is_error == 2);
      reader.finish();
    } else if (parcel.action != answer->call.operations->type) {
      Reader::malformed("the answer has a value of another type than its call waits for");
    } else {
      answer->call.operations->read(*answer->call.state, reader);
      reader.finish();
    }
  } catch (const MalformedParcel&) {
    answer->error = std::current_exception();
    refuse_parcel(source, parcel);
  } catch (...) {
    // What the program's serialize() has thrown is for who waits.
    answer->error = std::current_exception();
  }
  return answer;
}

void Core::run_parcel(int source, const ParsedParcel& parcel, ParcelBytes& bytes) {
  Reader reader(parcel.arguments);
  if (!parcel.is_answer()) {
    action_of(parcel).run({runtime_, source, parcel.call}, reader, bytes);
    return;
  }
  DecodedAnswer& answer = *decode_answer(source, parcel, reader).release();
  bytes.decoded();
  answer.execute(answer);
}

std::unique_ptr<DecodedParcel> Core::decode(IncomingMessage& message, const ParsedParcel& parcel,
                                            std::size_t first_chunk) {
  const int source = message.source;
  std::vector<MutableBytes>& landings = message.landings;
  const auto chunk_sizes = std::span(std::as_const(message.chunk_sizes)).subspan(first_chunk, parcel.chunks);
  std::span<const std::byte* const> places;
  if (!message.chunk_places.empty())
    places = std::span(std::as_const(message.chunk_places)).subspan(first_chunk, parcel.chunks);
  Reader reader(parcel.arguments, chunk_sizes, places, message.keeper);
  std::unique_ptr<DecodedParcel> decoded;
  if (parcel.is_answer()) {
    auto answer = decode_answer(source, parcel, reader);
    const bool is_read = !answer->error;
    decoded = std::move(answer);
    if (is_read) {
      landings.insert(landings.end(), reader.landings().begin(), reader.landings().end());
      return decoded;
    }
  } else {
    try {
      decoded.reset(action_of(parcel).decode({runtime_, source, parcel.call}, reader));
      reader.finish();
      landings.insert(landings.end(), reader.landings().begin(), reader.landings().end());
      return decoded;
    } catch (...) {
      refuse_parcel(source, parcel);
      decoded.reset();
    }
  }
  auto unread = std::make_unique<UnreadParcel>(std::move(decoded));
  for (const std::uint64_t size : chunk_sizes) {
    unread->rooms.push_back(std::make_unique_for_overwrite<std::byte[]>(size));
    landings.emplace_back(unread->rooms.back().get(), size);
  }
  return unread;
}

bool Core::take_control(int source, Bytes parcels) {
  ParcelHeader header;
  if (parcels.size() != sizeof header + sizeof(JobBarrier::Record)) return false;
  std::memcpy(&header, parcels.data(), sizeof header);
  if (header.action != kControl || header.size != parcels.size()) return false;
  Control control{source, {}};
  std::memcpy(&control.record, parcels.data() + sizeof header, sizeof control.record);
  inboxes_[pool_.slot()]->controls.push_back(control);
  return true;
}

void Core::on_small(int source, Bytes parcels) {
  if (take_control(source, parcels)) [[unlikely]]
    return;
  if (!are_parcels(parcels)) [[unlikely]]
    return dropped(source, "the lengths of its parcels are not its own");
  Inbox& inbox = *inboxes_[pool_.slot()];
  if (inbox.open && inbox.open->append(source, parcels)) [[likely]]
    return;
  if (inbox.open) pool_.schedule(*inbox.open.release());
  if (auto batch = std::make_unique<ParcelBatch>(*this); batch->append(source, parcels)) {
    inbox.open = std::move(batch);
    return;
  }
  // Longer than a batch.
  struct Copied final : IncomingMessage {
    std::vector<std::byte> bytes;
  };
  auto copied = std::make_unique<Copied>();
  copied->source = source;
  copied->bytes.assign(parcels.begin(), parcels.end());
  copied->head = copied->bytes;
  arrived(std::move(copied));
}

bool Core::place(IncomingMessage& message) {
  const InsidePort inside(pool_);
  const DecodesFor decodes(runtime_);
  Bytes rest = message.head;
  std::size_t next_chunk = 0;
  try {
    check_memory_for(message.chunk_sizes);
    while (!rest.empty()) {
      const ParsedParcel parcel = parse_parcel(rest);
      if (parcel.chunks > message.chunk_sizes.size() - next_chunk)
        Reader::malformed("a parcel has more chunks than its message");
      rest = rest.subspan(parcel.size);
      auto decoded = decode(message, parcel, next_chunk);
      next_chunk += parcel.chunks;
      decoded->source = message.source;
      message.decoded.push_back(decoded.get());
      static_cast<void>(decoded.release());
    }
    if (next_chunk != message.chunk_sizes.size())
      Reader::malformed("a message has more chunks than its parcels");
    return true;
  } catch (...) {
    refuse_all(message);
    return false;
  }
}

void Core::refuse_all(IncomingMessage& message) noexcept {
  for (DecodedParcel* const decoded : message.decoded) delete decoded;
  message.decoded.clear();
  message.landings.clear();
  for (Bytes rest = message.head; !rest.empty();) {
    ParsedParcel parcel;
    try {
      parcel = parse_parcel(rest);
    } catch (const MalformedParcel&) {
      // Nothing behind a parcel of an unknown length can be read.
      count_unknown();
      parcel = ParsedParcel();
    }
    if (parcel.is_answer() && parcel.call != 0)
      if (const PendingCall call = calls_.take(parcel.call, message.source); call.state != nullptr) {
        call.state->set_exception(std::current_exception());
        call.state->release();
      }
    refuse_parcel(message.source, parcel);
    count_finished(message.source);
    rest = parcel.size == 0 ? Bytes() : rest.subspan(parcel.size);
  }
}

void Core::arrived(std::unique_ptr<IncomingMessage> message) {
  const InsidePort inside(pool_);
  if (message->chunk_sizes.empty() && message->decoded.empty()) {
    auto batch = std::make_unique<ParcelBatch>(*this);
    batch->take(std::move(message));
    pool_.schedule(*batch.release());
    return;
  }
  for (DecodedParcel* const parcel : message->decoded) pool_.schedule(*new Counted(*this, *parcel));
  message->decoded.clear();
}

void Core::dropped(int source, const char* why) {
  malformed_.fetch_add(1, std::memory_order_relaxed);
  count_unknown();
  log_line(rank_, "a message from " + (source < 0 ? "an unknown rank" : "rank " + std::to_string(source)) +
                      " was dropped: " + why);
}

void Core::lost(std::unique_ptr<IncomingMessage> message) {
  const InsidePort inside(pool_);
  const int source = message->source;
  const bool has_failed = port_->has_failed(source);
  if (!has_failed && message->decoded.empty()) dropped(source, "not all of its parts have come");
  for (DecodedParcel* const parcel : message->decoded) {
    if (auto* const answer = dynamic_cast<DecodedAnswer*>(parcel); answer != nullptr)
      answer->end(has_failed
                      ? std::make_exception_ptr(PeerFailed(source))
                      : std::make_exception_ptr(MalformedParcel("the arrays of the answer of rank " +
                                                                std::to_string(source) + " did not come")));
    delete parcel;
    count_finished(source);
  }
  message->decoded.clear();
}

void Core::sent(std::unique_ptr<OutgoingMessage> message, bool is_delivered) {
  const InsidePort inside(pool_);
  outbox_.sent(std::move(message), is_delivered);
}

void Core::refuse_parcel(int source, const ParsedParcel& parcel) noexcept {
  malformed_.fetch_add(1, std::memory_order_relaxed);
  const std::string what = text_of_current_exception();
  log_line(rank_, "a parcel from rank " + std::to_string(source) + " was dropped: " + what);
  if (parcel.is_answer() || parcel.call == 0) return;
  try {
    const InsidePort inside(pool_);  // nobody waits because of it
    Writer writer(options_.zero_copy);
    write_header(writer, kAnswer, parcel.call, false);
    const std::uint8_t is_error = 1;
    Unchunked guard(writer);
    writer(is_error, "the parcel was dropped: " + what);
    send(source, writer, nullptr);
  } catch (const std::exception& error) {
    log_line(rank_, error.what());
  }
}

}  // namespace weft::parcel::detail
