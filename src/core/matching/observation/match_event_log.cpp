#include "core/matching/observation/match_event_log.hpp"

#include <weft/error.hpp>

#include <cerrno>
#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <memory>
#include <new>
#include <utility>

namespace weft::core {

namespace {

struct Close {
  void operator()(std::FILE* file) const noexcept { static_cast<void>(std::fclose(file)); }
};
using File = std::unique_ptr<std::FILE, Close>;

constexpr const char* name_of(MatchEvent::Kind kind) noexcept {
  switch (kind) {
    case MatchEvent::Kind::post:
      return "post";
    case MatchEvent::Kind::arrive:
      return "arrive";
    case MatchEvent::Kind::cancel:
      return "cancel";
    case MatchEvent::Kind::take:
      return "take";
  }
  return "";
}

}  // namespace

MatchEventLog::MatchEventLog(std::string path, int rank, int size)
    : path_(std::move(path)), rank_(rank), size_(size) {
  if (!File(std::fopen(path_.c_str(), "w")))
    throw Error(ErrorClass::attribute,
                "WEFT_MATCHING_TRACE: \"" + path_ + "\" cannot be written: " + std::strerror(errno) +
                    "; it must be off, on, or a file (%r: rank) or folder that can be written");
}

void MatchEventLog::add(const MatchEvent& event) noexcept {
  const std::lock_guard lock(mutex_);
  try {
    events_.push_back(event);
  } catch (const std::bad_alloc&) {
    ++dropped_;
  }
}

bool MatchEventLog::write() const {
  const File file(std::fopen(path_.c_str(), "w"));
  if (!file) return false;
  std::fprintf(file.get(), "# weft matching trace 1, rank %d of %d, %zu events, %" PRIu64 " dropped\n", rank_,
               size_, events_.size(), dropped_);
  for (const MatchEvent& event : events_) {
    std::fprintf(file.get(), "%s %u", name_of(event.kind), unsigned{event.engine});
    if (event.kind != MatchEvent::Kind::cancel)
      std::fprintf(file.get(), " %d %" PRIx64 " %u", static_cast<int>(event.key.source), event.key.tag,
                   event.key.policy);
    if (event.kind == MatchEvent::Kind::post || event.kind == MatchEvent::Kind::take)
      std::fprintf(file.get(), " %" PRIx64, event.tag_mask);
    if (event.kind == MatchEvent::Kind::post || event.kind == MatchEvent::Kind::cancel)
      std::fprintf(file.get(), " %" PRIx64, event.identity);
    std::fputc('\n', file.get());
  }
  return std::fflush(file.get()) == 0 && std::ferror(file.get()) == 0;
}

}  // namespace weft::core
