// What Core does with the messages that a parcelport gives it.
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "parcel/runtime/core.hpp"

namespace weft::parcel::detail {

void Core::on_small(int source, Bytes parcels) {
  Inbox& inbox = *inboxes_[pool_.slot()];
  if (const auto record = ControlRecords::read(parcels)) [[unlikely]] {
    inbox.controls.push_back({source, *record});
    return;
  }
  if (!are_parcels(parcels)) [[unlikely]]
    return dropped(source, "the lengths of its parcels are not its own");
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

bool Core::place(IncomingMessage& message) { return reader_.place(message); }

void Core::arrived(std::unique_ptr<IncomingMessage> message) {
  const InsidePort inside(pool_);
  if (message->chunk_sizes.empty() && message->decoded.empty()) {
    auto batch = std::make_unique<ParcelBatch>(*this);
    batch->take(std::move(message));
    pool_.schedule(*batch.release());
    return;
  }
  for (DecodedParcel* const parcel : message->decoded) pool_.schedule(reader_.task_of(*parcel));
  message->decoded.clear();
}

void Core::dropped(int source, const char* why) { reader_.drop(source, why); }
void Core::lost(std::unique_ptr<IncomingMessage> message) { reader_.lose(*message); }

void Core::sent(std::unique_ptr<OutgoingMessage> message, bool is_delivered) {
  const InsidePort inside(pool_);
  outbox_.sent(std::move(message), is_delivered);
}

}  // namespace weft::parcel::detail
