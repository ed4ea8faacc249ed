#include "core/protocol/matched/complete_receive.hpp"

#include "base/memory/bulk_copy.hpp"
#include "core/memory/copy_and_release.hpp"

#include <weft/detail/copy.hpp>

namespace weft::core {

void copy_payload(MutableBytes buffer, const std::byte* from, std::size_t size) noexcept {
  if (ScatteredReceive* receive = ScatteredReceive::of(buffer); receive != nullptr) [[unlikely]]
    receive->fill({from, size});
  else if (size <= detail::kSlotPayload)
    detail::copy_small(buffer.data(), from, size);
  else
    base::copy_bulk(buffer.data(), from, size);
}

[[gnu::noinline]] void fill_buffer(const MatchRecord& record, const std::byte* from,
                                   std::size_t size) noexcept {
  copy_payload(record.buffer, from, size);
}

[[gnu::noinline]] void fill_buffer(const MatchRecord& record, Message& arrival, std::size_t size) noexcept {
  if (ScatteredReceive::of(record.buffer) == nullptr)
    copy_and_release(record.buffer.data(), arrival, arrival.bytes().first(size));
  else
    copy_payload(record.buffer, arrival.data(), size);
}

void report_cut(const MatchRecord& record, std::size_t size, std::size_t length) noexcept {
  const MatchKey key = record.key();
  Message message;  // which nobody reads
  detail::MessageAccess::set_view(message, Operation::receive, static_cast<int>(key.source), key.tag, nullptr,
                                  size, nullptr, length);
  detail::MessageAccess::set_outcome(message, Outcome::truncated);
}

}  // namespace weft::core
