// Decompositions of a grid over threads, and the messages that a process receives in a halo exchange.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace weft::tools::study {

/// Which cells are neighbours of one.
enum class HaloStencil {
  naive,                ///< none: each receiving thread has a sending thread of its own, and so many messages
  five_points,          ///< in two dimensions, across edges
  nine_points,          ///< in two dimensions, corners as well
  seven_points,         ///< in three dimensions, across faces
  twenty_seven_points,  ///< in three dimensions, edges and corners as well
};

/// A block of cells, each of which is a thread of one process. Cells beside the block are threads elsewhere,
/// and send a message to each of their neighbours in it.
struct Decomposition {
  HaloStencil stencil = HaloStencil::naive;
  std::array<std::uint32_t, 3> lengths{1, 1, 1};  ///< in two dimensions the last is 1; naive: threads, 1, 1
  std::uint32_t messages_of_thread = 1;           ///< naive alone
  bool operator==(const Decomposition&) const = default;
};

/// Bounds of what parse_decomposition accepts.
inline constexpr std::uint32_t kMostLength = 65'536;
inline constexpr std::uint64_t kMostMessages = std::uint64_t{1} << 20;

/// Reads STENCIL:XxYxZ: naive:64, naive:64:512 (messages of each thread), 5pt:32x32, 9pt:32x32, 7pt:8x8x4,
/// 27pt:1x1x256. Throws weft::Error for
/// anything else, for lengths of zero, and for more than kMostMessages messages.
[[nodiscard]] Decomposition parse_decomposition(std::string_view text);
/// The text that parse_decomposition reads.
[[nodiscard]] std::string name_of(const Decomposition& decomposition);

struct HaloCounts {
  std::uint64_t receivers = 0;  ///< threads of the block that receive anything from outside (T_r)
  std::uint64_t senders = 0;    ///< threads outside that send anything into the block (T_s)
  std::uint64_t messages = 0;   ///< messages to the block (M_t)
  bool operator==(const HaloCounts&) const = default;
};

/// In closed form, for every shape whose lengths are 1 to kMostLength. The paper's formulas for receivers
/// hold where no length is 1, and agree.
[[nodiscard]] HaloCounts count_halo(const Decomposition& decomposition) noexcept;

struct HaloMessage {
  std::uint32_t sender = 0;             ///< 0 to senders - 1
  std::uint32_t receiver = 0;           ///< 0 to receivers - 1
  std::uint32_t index_at_sender = 0;    ///< how many messages its sender sends before it
  std::uint32_t index_at_receiver = 0;  ///< how many its receiver receives before it
};

/// All messages of an exchange by enumeration, receiver by receiver. Threads are numbered in the order of
/// cells, along the first dimension first, and a receiver posts its receives in the order of the cells they
/// are from. A sender sends in the opposite order: both go through the directions in which messages travel
/// alike, as a loop over directions does that receives from one side and sends to the other. (Senders that
/// walk their neighbours as receivers do make searches longer than random arrivals: what a sender sends first
/// has been posted last.)
struct HaloExchange {
  HaloCounts counts;
  std::vector<HaloMessage> messages;
};

/// Throws weft::Error as parse_decomposition does.
[[nodiscard]] HaloExchange enumerate_halo(const Decomposition& decomposition);

/// A decomposition of the paper, and what the paper prints for it where that is known here. Times are of
/// their machine. What it prints of a depth and a time belongs to the row whose messages they fit.
struct PaperRow {
  std::string_view decomposition;
  std::optional<double> depth;  ///< of a search
  std::optional<double> drain_microseconds;
  std::optional<std::uint64_t> messages = {};  ///< as printed; count_halo() is right where it differs
  bool is_more = false;                        ///< the depth is more than printed
};

/// The tables' rows, and those of Figure 1, which have threads without neighbours.
[[nodiscard]] std::span<const PaperRow> paper_rows() noexcept;
[[nodiscard]] std::span<const PaperRow> paper_naive_rows() noexcept;
/// The row of a decomposition among both; null: the paper has none.
[[nodiscard]] const PaperRow* paper_row_of(std::string_view decomposition) noexcept;

/// Decompositions of 2, 4, 8 threads and so on up to `most`, as blocks of about equal lengths: of a stencil's
/// name, of `naive:M` for M messages of each thread, or of `7pt-line` and `27pt-line`, which are 1 x 1 x T.
/// Throws weft::Error for another name, and for more than kMostMessages messages.
[[nodiscard]] std::vector<Decomposition> sweep_of(std::string_view family, std::uint32_t most);
[[nodiscard]] std::uint64_t threads_of(const Decomposition& decomposition) noexcept;

}  // namespace weft::tools::study
