#include "parcel/runtime/parcel_reader.hpp"

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
    self.core.traffic().finished(source, stack.worker->number);
    delete &self;
  }
  Core& core;
  DecodedParcel& parcel;
};

}  // namespace

BackgroundWork::Parcels ParcelReader::choose(Task& task, const BlockedKinds& blocked,
                                             const void*& kind) const noexcept {
  if (auto* const batch = ParcelBatch::of(task); batch != nullptr) {
    const void* first = nullptr;
    const bool has_chosen = batch->choose([&](std::uint32_t action) {
      const void* const called = core_.actions().find(action);
      if (first == nullptr) first = called;
      if (blocked.contains(called)) return false;
      kind = called;
      return true;
    });
    if (!has_chosen) kind = first;
    return has_chosen ? BackgroundWork::Parcels::chosen : BackgroundWork::Parcels::held_back;
  }
  if (task.execute != &Counted::run) return BackgroundWork::Parcels::none;
  const DecodedParcel& parcel = static_cast<Counted&>(task).parcel;
  if (dynamic_cast<const DecodedAnswer*>(&parcel) != nullptr ||
      dynamic_cast<const UnreadParcel*>(&parcel) != nullptr)
    return BackgroundWork::Parcels::chosen;
  kind = reinterpret_cast<const void*>(parcel.execute);
  return blocked.contains(kind) ? BackgroundWork::Parcels::held_back : BackgroundWork::Parcels::chosen;
}

const ActionEntry& ParcelReader::action_of(const ParsedParcel& parcel) const {
  const ActionEntry* const entry = core_.actions().find(parcel.action);
  if (entry == nullptr)
    Reader::malformed("a parcel names an action that this rank does not have, or whose library was unloaded");
  return *entry;
}

std::unique_ptr<DecodedAnswer> ParcelReader::decode_answer(int source, const ParsedParcel& parcel,
                                                           Reader& reader) {
  auto answer = std::make_unique<DecodedAnswer>();
  answer->call = core_.awaited().calls.take(parcel.call, source);
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
    refuse(source, parcel);
  } catch (...) {
    // What the program's serialize() has thrown is for who waits.
    answer->error = std::current_exception();
  }
  return answer;
}

void ParcelReader::run(int source, const ParsedParcel& parcel, ParcelBytes& bytes) {
  Reader reader(parcel.arguments);
  if (!parcel.is_answer()) {
    action_of(parcel).run({core_.runtime(), source, parcel.call}, reader, bytes);
    return;
  }
  DecodedAnswer& answer = *decode_answer(source, parcel, reader).release();
  bytes.decoded();
  answer.execute(answer);
}

std::unique_ptr<DecodedParcel> ParcelReader::decode(IncomingMessage& message, const ParsedParcel& parcel,
                                                    std::size_t first_chunk) {
  const int source = message.source;
  std::vector<MutableBytes>& landings = message.landings;
  const auto chunk_sizes = std::span(std::as_const(message.chunk_sizes)).subspan(first_chunk, parcel.chunks);
  std::span<const std::byte* const> addresses;
  if (!message.chunk_addresses.empty())
    addresses = std::span(std::as_const(message.chunk_addresses)).subspan(first_chunk, parcel.chunks);
  Reader reader(parcel.arguments, chunk_sizes, addresses, message.keeper);
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
      decoded.reset(action_of(parcel).decode({core_.runtime(), source, parcel.call}, reader));
      reader.finish();
      landings.insert(landings.end(), reader.landings().begin(), reader.landings().end());
      return decoded;
    } catch (...) {
      refuse(source, parcel);
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

bool ParcelReader::place(IncomingMessage& message) {
  const InsidePort inside(core_.scheduler());
  const DecodesFor decodes(core_.runtime());
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

void ParcelReader::refuse_all(IncomingMessage& message) noexcept {
  for (DecodedParcel* const decoded : message.decoded) delete decoded;
  message.decoded.clear();
  message.landings.clear();
  for (Bytes rest = message.head; !rest.empty();) {
    ParsedParcel parcel;
    try {
      parcel = parse_parcel(rest);
    } catch (const MalformedParcel&) {
      // Nothing behind a parcel of an unknown length can be read.
      core_.traffic().lost_some();
      parcel = ParsedParcel();
    }
    if (parcel.is_answer() && parcel.call != 0)
      if (const PendingCall call = core_.awaited().calls.take(parcel.call, message.source);
          call.state != nullptr) {
        call.state->set_exception(std::current_exception());
        call.state->release();
      }
    refuse(message.source, parcel);
    core_.traffic().finished(message.source, core_.scheduler().worker_number());
    rest = parcel.size == 0 ? Bytes() : rest.subspan(parcel.size);
  }
}

Task& ParcelReader::task_of(DecodedParcel& parcel) const { return *new Counted(core_, parcel); }

void ParcelReader::drop(int source, const char* why) {
  malformed_.fetch_add(1, std::memory_order_relaxed);
  core_.traffic().lost_some();
  log_line(core_.rank(), "a message from " +
                             (source < 0 ? "an unknown rank" : "rank " + std::to_string(source)) +
                             " was dropped: " + why);
}

void ParcelReader::lose(IncomingMessage& message) {
  const InsidePort inside(core_.scheduler());
  const int source = message.source;
  const bool has_failed = core_.port().has_failed(source);
  if (!has_failed && message.decoded.empty()) drop(source, "not all of its parts have come");
  for (DecodedParcel* const parcel : message.decoded) {
    if (auto* const answer = dynamic_cast<DecodedAnswer*>(parcel); answer != nullptr)
      answer->end(has_failed
                      ? std::make_exception_ptr(PeerFailed(source))
                      : std::make_exception_ptr(MalformedParcel("the arrays of the answer of rank " +
                                                                std::to_string(source) + " did not come")));
    delete parcel;
    core_.traffic().finished(source, core_.scheduler().worker_number());
  }
  message.decoded.clear();
}

void ParcelReader::refuse(int source, const ParsedParcel& parcel) noexcept {
  malformed_.fetch_add(1, std::memory_order_relaxed);
  const std::string what = text_of_current_exception();
  log_line(core_.rank(), "a parcel from rank " + std::to_string(source) + " was dropped: " + what);
  if (parcel.is_answer() || parcel.call == 0) return;
  try {
    const InsidePort inside(core_.scheduler());  // nobody waits because of it
    Writer writer(core_.options().zero_copy);
    write_header(writer, kAnswer, parcel.call, false);
    const std::uint8_t is_error = 1;
    Unchunked guard(writer);
    writer(is_error, "the parcel was dropped: " + what);
    core_.send(source, writer, nullptr);
  } catch (const std::exception& error) {
    log_line(core_.rank(), error.what());
  }
}

}  // namespace weft::parcel::detail
