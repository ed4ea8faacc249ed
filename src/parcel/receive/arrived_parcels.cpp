// What Core does with the messages that a parcelport gives it.
#include <cstdio>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include <weft/parcel/exceptions.hpp>

#include "parcel/action_registry.hpp"
#include "parcel/core.hpp"

namespace weft::parcel::detail {

namespace {

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

void Core::run_parcel(int source, const ParsedParcel& parcel, ParcelBytes& bytes) {
  Reader reader(parcel.arguments);
  if (parcel.action != kAnswer) {
    if (parcel.action >= actions_.size()) Reader::malformed("a parcel names an action that does not exist");
    actions_[parcel.action]->run({runtime_, source, parcel.call}, reader, bytes);
    return;
  }
  const std::unique_ptr<DecodedParcel> answer(decode(source, parcel, reader));
  reader.finish();
  bytes.decoded();
  answer->execute(*static_cast<Task*>(const_cast<std::unique_ptr<DecodedParcel>&>(answer).release()));
}

namespace {

/// An answer that has been decoded.
struct DecodedAnswer final : DecodedParcel {
  DecodedAnswer() noexcept : DecodedParcel(&run) {}
  ~DecodedAnswer() override {
    if (call.state == nullptr) return;
    if (!error) error = std::make_exception_ptr(MalformedParcel("the answer of a call could not be read"));
    call.state->set_exception(std::move(error));
    call.state->release();
  }
  static void run(Task& task) noexcept {
    auto& self = static_cast<DecodedAnswer&>(task);
    if (!self.error && self.call.state != nullptr) {
      FutureStateBase* const state = std::exchange(self.call.state, nullptr);
      self.call.operations->finish(*state);
      state->release();
    }
    delete &self;
  }
  PendingCall call;
  std::exception_ptr error;
};

}  // namespace

DecodedParcel* Core::decode(int source, const ParsedParcel& parcel, Reader& reader) {
  if (parcel.action != kAnswer) {
    if (parcel.action >= actions_.size()) Reader::malformed("a parcel names an action that does not exist");
    return actions_[parcel.action]->decode({runtime_, source, parcel.call}, reader);
  }
  auto answer = std::make_unique<DecodedAnswer>();
  answer->call = calls_.take(parcel.call, source);
  if (answer->call.state == nullptr) Reader::malformed("an answer names a call that nobody waits for");
  std::uint8_t is_error = 0;
  reader(is_error);
  if (is_error != 0) {
    answer->error = read_exception(reader, source, is_error == 2);
  } else {
    answer->call.operations->read(*answer->call.state, reader);
  }
  return answer.release();
}

bool Core::take_control(int source, Bytes parcels) {
  ParcelHeader header;
  if (parcels.size() != sizeof header + sizeof(JobBarrier::Record)) return false;
  std::memcpy(&header, parcels.data(), sizeof header);
  if (header.action != kControl || header.size != parcels.size()) return false;
  Control control{source, {}};
  std::memcpy(&control.record, parcels.data() + sizeof header, sizeof control.record);
  inboxes_[pool_.worker_number()]->controls.push_back(control);
  return true;
}

void Core::on_small(int source, Bytes parcels) {
  if (take_control(source, parcels)) [[unlikely]]
    return;
  Inbox& inbox = *inboxes_[pool_.worker_number()];
  if (inbox.open && inbox.open->append(source, parcels)) [[likely]]
    return;
  if (inbox.open) pool_.schedule(*inbox.open.release());
  inbox.open = std::make_unique<ParcelBatch>(*this);
  if (inbox.open->append(source, parcels)) return;
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
  Bytes rest = message.head;
  std::size_t next_chunk = 0;
  ParsedParcel parcel;
  try {
    check_memory_for(message.chunk_sizes);
    while (!rest.empty()) {
      parcel = ParsedParcel();
      parcel = parse_parcel(rest);
      rest = rest.subspan(parcel.size);
      if (parcel.chunks > message.chunk_sizes.size() - next_chunk)
        Reader::malformed("a parcel has more chunks than its message");
      const std::span<const std::uint64_t> sizes(message.chunk_sizes.data() + next_chunk, parcel.chunks);
      next_chunk += parcel.chunks;
      Reader reader(parcel.arguments, sizes);
      message.decoded.push_back(decode(message.source, parcel, reader));
      message.decoded.back()->source = message.source;
      reader.finish();
      message.landings.insert(message.landings.end(), reader.landings().begin(), reader.landings().end());
    }
    if (next_chunk != message.chunk_sizes.size())
      Reader::malformed("a message has more chunks than its parcels");
    return true;
  } catch (...) {
    report_malformed(message.source, parcel.action != kAnswer ? parcel.call : 0);
    for (DecodedParcel* decoded : message.decoded) {
      delete decoded;
      count_finished(message.source);
    }
    message.decoded.clear();
    message.landings.clear();
    return false;
  }
}

void Core::arrived(std::unique_ptr<IncomingMessage> message) {
  if (message->chunk_sizes.empty() && message->decoded.empty()) {
    auto batch = std::make_unique<ParcelBatch>(*this);
    batch->take(std::move(message));
    pool_.schedule(*batch.release());
    return;
  }
  /// Runs a decoded parcel, and counts it.
  struct Counted final : Task {
    Counted(Core& who, DecodedParcel& what) noexcept : Task(&run), core(who), parcel(what) {}
    static void run(Task& task) noexcept {
      auto& self = static_cast<Counted&>(task);
      const int source = self.parcel.source;
      self.parcel.execute(self.parcel);
      self.core.count_finished(source);
      delete &self;
    }
    Core& core;
    DecodedParcel& parcel;
  };
  for (DecodedParcel* const parcel : message->decoded) pool_.schedule(*new Counted(*this, *parcel));
  message->decoded.clear();
}

void Core::lost(std::unique_ptr<IncomingMessage> message) {
  for (DecodedParcel* const parcel : message->decoded) delete parcel;
  message->decoded.clear();
}

void Core::report_malformed(int source, std::uint64_t call) noexcept {
  malformed_.fetch_add(1, std::memory_order_relaxed);
  const std::string what = text_of_current_exception();
  log_line(port_->rank(), "a parcel from rank " + std::to_string(source) + " was dropped: " + what);
  if (call == 0) return;
  try {
    Writer writer(options_.zero_copy);
    write_header(writer, kAnswer, call, false);
    const std::uint8_t is_error = 1;
    Unchunked guard(writer);
    writer(is_error, "the parcel was dropped: " + what);
    send(source, writer, nullptr);
  } catch (const std::exception& error) {
    log_line(port_->rank(), error.what());
  }
}

}  // namespace weft::parcel::detail
