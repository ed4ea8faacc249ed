#include "bootstrap/local/board.hpp"

#include <weft/error.hpp>

#include <sys/mman.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>

#include "base/memory/memory_file.hpp"
#include "base/system_call.hpp"

namespace weft::bootstrap::local {
namespace {

constexpr std::uint64_t kMagic = 0x343044524f424657;  // "WFBORD04"

}  // namespace

Board::Board(std::string_view job_id, int size, Holds holds)
    : file_(base::make_memory_file("weft-board", bytes_for(size), 0, "the board of the job's ranks")) {
  map(size, true);
  page_->magic = kMagic;
  page_->size = size;
  page_->holds = holds;
  job_id.copy(page_->job_id.data(), page_->job_id.size() - 1);
}

std::unique_ptr<Board> Board::open(Descriptor file, std::string_view job_id, int size, bool writes) {
  std::unique_ptr<Board> board(new Board);
  board->file_ = std::move(file);
  struct stat information {};
  if (::fstat(board->file_.get(), &information) != 0 ||
      information.st_size != static_cast<off_t>(bytes_for(size)))
    throw Error(ErrorClass::job, "what the launcher sent is no board of " + std::to_string(size) + " ranks");
  board->map(size, writes);
  board->file_.close();
  const Page& page = *board->page_;
  if (page.magic != kMagic || page.size != size ||
      std::string_view(page.job_id.data(), ::strnlen(page.job_id.data(), page.job_id.size())) != job_id)
    throw Error(ErrorClass::job, "what the launcher sent is the board of another job");
  return board;
}

void Board::map(int size, bool writes) {
  bytes_ = bytes_for(size);
  void* page =
      ::mmap(nullptr, bytes_, writes ? PROT_READ | PROT_WRITE : PROT_READ, MAP_SHARED, file_.get(), 0);
  if (page == MAP_FAILED)
    throw Error(ErrorClass::job,
                "the board of the job's ranks cannot be mapped: " + base::failed_call("mmap", errno));
  page_ = static_cast<Page*>(page);
}

Board::~Board() {
  if (page_ != nullptr) ::munmap(page_, bytes_);
}

void Board::mark_failed(int rank) noexcept {
  if (!mark(rank, End::failed)) return;
  // Pairs with the acquire of threads that read the count of failures.
  page_->failures.fetch_add(1, std::memory_order_release);
  page_->departures.fetch_add(1, std::memory_order_release);
}

void Board::mark_left(int rank) noexcept {
  // Pairs with the acquire of threads that read the count of departures.
  if (mark(rank, End::left)) page_->departures.fetch_add(1, std::memory_order_release);
}

void Board::publish(int rank, std::string_view key, std::span<const std::byte> value) noexcept {
  const auto is_this = [&](const Slot& slot) {
    return key == std::string_view(slot.key.data(), std::min<std::size_t>(slot.key_bytes, slot.key.size()));
  };
  for (Slot& to : slots(rank)) {
    if (to.is_taken.load(std::memory_order_relaxed) != 0) {
      if (is_this(to)) return;
      continue;
    }
    if (key.size() > to.key.size() || value.size() > to.value.size()) break;
    to.key_bytes = static_cast<std::uint16_t>(key.size());
    to.value_bytes = static_cast<std::uint16_t>(value.size());
    key.copy(to.key.data(), key.size());
    std::copy(value.begin(), value.end(), to.value.begin());
    // Pairs with the acquire in look_up().
    return to.is_taken.store(1, std::memory_order_release);
  }
  mark_of(rank).has_more.store(1, std::memory_order_relaxed);
}

Board::Lookup Board::look_up(int rank, std::string_view key, std::vector<std::byte>& value) const {
  bool has_free = false;
  for (const Slot& from : slots(rank)) {
    // Pairs with the release in publish().
    has_free = from.is_taken.load(std::memory_order_acquire) == 0;
    if (has_free) break;
    if (from.value_bytes > from.value.size() || from.key_bytes != key.size() ||
        key != std::string_view(from.key.data(), std::min(key.size(), from.key.size())))
      continue;
    value.assign(from.value.begin(), from.value.begin() + from.value_bytes);
    return Lookup::value;
  }
  const bool knows_all = page_->holds == Holds::all && has_free;
  return knows_all && mark_of(rank).has_more.load(std::memory_order_relaxed) == 0 ? Lookup::not_published
                                                                                  : Lookup::nothing;
}

bool Board::mark(int rank, End how) noexcept {
  auto none = End::none;
  return end(rank).compare_exchange_strong(none, how, std::memory_order_relaxed);
}

}  // namespace weft::bootstrap::local
