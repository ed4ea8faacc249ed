// What takes bytes from launchers of the field, and from ranks that variables alone have told of each other.
#include "unit/fuzz/decoders.hpp"

#include "base/clock.hpp"
#include "bootstrap/launchers/environment/arrival.hpp"
#include "bootstrap/launchers/environment/meeting.hpp"
#include "bootstrap/launchers/environment/reports.hpp"
#include "bootstrap/launchers/sized_card.hpp"

#include <weft/error.hpp>

#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

namespace weft::fuzz {

namespace {

namespace contact = bootstrap::contact;

contact::EnvironmentJob job_of_three() { return {1, 3, "127.0.0.1", 4711, "lo", "RANK and WORLD_SIZE"}; }

/// A value of PMIx.
Decoder published_card() {
  return {"published-card",
          [](Bytes bytes) { static_cast<void>(contact::from_published(text_of(bytes))); },
          {seed_of_text("w"), seed_of_text("w00ff7a")}};
}

/// A card of the exchange over MPI.
Decoder sized_card() {
  return {"sized-card",
          [](Bytes bytes) {
            contact::SizedCard card;
            std::memcpy(&card, bytes.data(), std::min(bytes.size(), sizeof card));
            static_cast<void>(contact::from_sized(card));
          },
          {seed_of(contact::to_sized(std::array<std::byte, 3>{}))}};
}

/// What listens at the place of rank 0.
Decoder meeting() {
  return {"meeting",
          [](Bytes bytes) {
            Pair pair(bytes);
            const contact::Meeting met =
                contact::meet(pair.own.get(), job_of_three(), {}, base::Deadline(0.5));
            if (met.cards.has_value()) std::abort();  // nobody has sealed them
          },
          {seed_of(contact::Greeting(), contact::ResultHead()),
           seed_of(contact::Greeting(),
                   contact::ResultHead{contact::kArrivalMagic, contact::ResultKind::text, 40, 0},
                   std::array<char, 40>{})},
          kMemory,
          1000};
}

/// Results of a rank 0 that has the key: the kind first, then the content.
Decoder results() {
  const std::array<contact::SizedCard, 3> cards{};
  return {"results",
          [](Bytes bytes) {
            if (bytes.empty()) return;
            const auto kind = static_cast<contact::ResultKind>(bytes[0]);
            const sockets::Key key{std::byte{7}};
            const Seed sealed = contact::sealed_result(kind, key, bytes.subspan(1));
            Pair pair(sealed);
            const contact::Meeting met =
                contact::read_result(pair.own.get(), job_of_three(), key, base::Deadline(0.5));
            if (met.cards.has_value() && met.cards->size() != 3) std::abort();
          },
          {seed_of(std::uint8_t{1}, cards),
           seed_of(std::uint8_t{2}, std::array<char, 9>{'n', 'o', ' ', 'r', 'a', 'n', 'k'}),
           seed_of(std::uint8_t{3})},
          kMemory,
          1000};
}

/// Reports that rank 0 passes on, as one who has the key has sealed them.
Decoder reports() {
  const std::array<char, 4> why{'w', 'h', 'y', '.'};
  const std::array<char, contact::kLongestReport - 4> rest{};
  constexpr std::uint32_t kMagic = 0x52544657;
  return {"reports",
          [](Bytes bytes) {
            const sockets::Key key{std::byte{9}};
            // Of one report; what is missing is zero.
            Seed opened(2 * sizeof(std::uint32_t) + contact::kLongestReport);
            std::memcpy(opened.data(), bytes.data(), std::min(bytes.size(), opened.size()));
            Seed sealed(opened.size() + sockets::kSealBytes);
            sockets::seal_once(sockets::derive(key, "weft reports", {}), opened, sealed);
            Pair pair(sealed);
            const contact::Met met{std::move(pair.own), key};
            try_to([&] { static_cast<void>(contact::bring_report(met, 1, {2}, "", base::Deadline(0.5))); });
          },
          {seed_of(kMagic, std::uint32_t{4}, why, rest)},
          kMemory,
          1000};
}

std::vector<Decoder> decoders() {
  sockets::prepare_greetings();
  return {published_card(), sized_card(), meeting(), results(), reports()};
}

const Registration kRegistration(&decoders);

}  // namespace

}  // namespace weft::fuzz
