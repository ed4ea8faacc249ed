#include "parcel/runtime/parcel_batch.hpp"

#include <unistd.h>

#include <cstring>
#include <string>
#include <utility>

#include "parcel/runtime/core.hpp"

namespace weft::parcel {

void Reader::malformed(const char* what) { throw MalformedParcel(what); }

void check_memory_for(std::span<const std::uint64_t> chunk_sizes) {
  static const std::uint64_t memory = static_cast<std::uint64_t>(::sysconf(_SC_PHYS_PAGES)) *
                                      static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  std::uint64_t total = 0;
  for (const std::uint64_t size : chunk_sizes) {
    if (size > memory - total) Reader::malformed("its arrays are longer than this host has memory");
    total += size;
  }
}

ParsedParcel parse_parcel(Bytes bytes) {
  Reader reader(bytes);
  detail::ParcelHeader header{};
  reader.bytes(&header, sizeof header);
  if (header.size < sizeof header || header.size > bytes.size())
    Reader::malformed("the length of a parcel is more than its message has");
  reader = Reader(bytes.subspan(sizeof header, header.size - sizeof header));
  ParsedParcel parcel;
  parcel.action = header.action & detail::kActionBits;
  parcel.flags = header.action & ~detail::kActionBits;
  if ((header.action & detail::kHasCall) != 0) reader(parcel.call);
  if ((header.action & detail::kHasChunks) != 0) reader(parcel.chunks);
  parcel.arguments = {reader.position(), reader.remaining()};
  parcel.size = header.size;
  return parcel;
}

/// The batch's memory is needed until its last parcel has been decoded.
class ParcelBatch::HeldBytes final : public detail::ParcelBytes {
 public:
  explicit HeldBytes(ParcelBatch& batch) noexcept : batch_(&batch) {}
  void decoded() noexcept override {
    ParcelBatch* const batch = std::exchange(batch_, nullptr);
    if (batch == nullptr) return;
    if (batch->rest().empty())
      delete batch;
    else
      batch->core_.scheduler().schedule(*batch);
  }

 private:
  ParcelBatch* batch_;
};

Bytes ParcelBatch::rest() noexcept {
  while (!early_.empty() && early_.front() == next_) {
    detail::ParcelHeader header;
    std::memcpy(&header, all().data() + next_, sizeof header);
    next_ += header.size;
    early_.erase(early_.begin());
  }
  return all().subspan(next_);
}

void ParcelBatch::run(Task& task) noexcept {
  auto& batch = static_cast<ParcelBatch&>(task);
  detail::Core& core = batch.core_;
  const int source = batch.source_;
  HeldBytes bytes(batch);
  TaskStack& stack = *TaskStack::current();
  stack.caller = source;
  ParsedParcel parcel;
  const bool is_early = std::exchange(batch.has_chosen_, false);
  try {
    parcel = parse_parcel(is_early ? batch.all().subspan(batch.early_.back()) : batch.rest());
    if (parcel.chunks != 0) Reader::malformed("a parcel has chunks that its message has not");
    if (!is_early) batch.next_ += parcel.size;
    core.reader().run(source, parcel, bytes);
  } catch (...) {
    if (parcel.size == 0) {
      // Nothing behind a parcel of an unknown length can be read.
      if (!is_early) batch.next_ += batch.rest().size();
      core.traffic().lost_some();
    }
    core.reader().refuse(source, parcel);
  }
  bytes.decoded();
  stack.caller = -1;
  core.traffic().finished(source, stack.worker->number);
}

}  // namespace weft::parcel
