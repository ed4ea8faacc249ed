#include "bootstrap/local/board.hpp"

#include <weft/error.hpp>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>

namespace weft::bootstrap::local {
namespace {

constexpr std::uint64_t kMagic = 0x313044524f424657;  // "WFBORD01"

}  // namespace

Board::Board(std::string_view job_id, int size) : file_(::memfd_create("weft-board", MFD_CLOEXEC)) {
  const auto bytes = static_cast<off_t>(sizeof(Page) + static_cast<std::size_t>(size));
  if (!file_ || ::ftruncate(file_.get(), bytes) != 0 || !map(size, true))
    throw Error(std::string("the board of the job's ranks cannot be made: ") + std::strerror(errno));
  page_->magic = kMagic;
  page_->size = size;
  job_id.copy(page_->job_id.data(), page_->job_id.size() - 1);
}

std::unique_ptr<Board> Board::open(const Welcome& welcome, std::string_view job_id, int size) {
  std::unique_ptr<Board> board(new Board);
  const std::string path =
      "/proc/" + std::to_string(welcome.launcher) + "/fd/" + std::to_string(welcome.board);
  board->file_ = Descriptor{::open(path.c_str(), O_RDONLY | O_CLOEXEC)};
  struct stat information {};
  if (!board->file_ || ::fstat(board->file_.get(), &information) != 0 ||
      information.st_size != static_cast<off_t>(sizeof(Page) + static_cast<std::size_t>(size)) ||
      !board->map(size, false))
    return nullptr;
  board->file_.close();
  const Page& page = *board->page_;
  if (page.magic != kMagic || page.size != size || std::string_view(page.job_id.data()) != job_id)
    return nullptr;
  return board;
}

bool Board::map(int size, bool writes) {
  bytes_ = sizeof(Page) + static_cast<std::size_t>(size);
  void* page =
      ::mmap(nullptr, bytes_, writes ? PROT_READ | PROT_WRITE : PROT_READ, MAP_SHARED, file_.get(), 0);
  if (page == MAP_FAILED) return false;
  page_ = static_cast<Page*>(page);
  return true;
}

Board::~Board() {
  if (page_ != nullptr) ::munmap(page_, bytes_);
}

void Board::mark_failed(int rank) noexcept {
  if (failed(rank).exchange(1, std::memory_order_relaxed) != 0) return;
  // Pairs with the acquire of whoever counts the failures.
  page_->failures.fetch_add(1, std::memory_order_release);
}

}  // namespace weft::bootstrap::local
