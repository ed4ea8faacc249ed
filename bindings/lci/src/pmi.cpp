// Ranks, and what they publish to each other before they communicate.
#include <lct.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>
#include <weft/error.hpp>
#include <weft/runtime.hpp>

#include "job/variables.hpp"

namespace {

/// Ends the program: programs of C call these functions.
[[noreturn]] void end(const std::string& what) {
  std::fprintf(stderr, "lct: %s\n", what.c_str());
  std::exit(1);
}

class Board {
 public:
  explicit Board(const std::string& name) : runtime_(open(name)) {}
  [[nodiscard]] int rank() const noexcept { return runtime_.rank(); }
  [[nodiscard]] int size() const noexcept { return runtime_.size(); }
  void publish(const char* key, const char* value) {
    fresh_ += key;
    fresh_ += '\0';
    fresh_ += value;
    fresh_ += '\0';
  }
  /// Waits for all ranks, and learns what they have published.
  void exchange();
  /// Null when the rank has not published the key before the last exchange.
  [[nodiscard]] const std::string* find(int rank, const char* key) const {
    const auto found = known_.find({rank, key});
    return found == known_.end() ? nullptr : &found->second;
  }

 private:
  static weft::Runtime open(const std::string& name) {
    lci::use_job_variables();
    return weft::Runtime({.name = name});
  }
  void learn(int rank, const char* text, std::size_t size);

  weft::Runtime runtime_;
  std::string fresh_;  // keys and values, each with its zero
  std::map<std::pair<int, std::string>, std::string> known_;
};

void Board::exchange() {
  const std::size_t ranks = static_cast<std::size_t>(size());
  const std::uint64_t mine = fresh_.size();
  std::vector<std::uint64_t> sizes(ranks);
  runtime_.allgather(weft::bytes_of(mine), std::as_writable_bytes(std::span(sizes)));
  const std::size_t most = *std::max_element(sizes.begin(), sizes.end());
  if (most == 0) return;
  fresh_.resize(most);
  std::vector<char> all(most * ranks);
  runtime_.allgather(std::as_bytes(std::span(fresh_)), std::as_writable_bytes(std::span(all)));
  for (std::size_t rank = 0; rank < ranks; ++rank)
    learn(static_cast<int>(rank), all.data() + rank * most, sizes[rank]);
  fresh_.clear();
}
void Board::learn(int rank, const char* text, std::size_t size) {
  for (const char* const stop = text + size; text < stop;) {
    const std::string key(text);
    text += key.size() + 1;
    const std::string value(text);
    text += value.size() + 1;
    known_[{rank, key}] = value;
  }
}

std::mutex mutex;
std::unique_ptr<Board> current;

/// The board, opened by whoever asks first. The caller holds the mutex.
Board& board() {
  static unsigned opened = 0;
  try {
    if (current == nullptr) current = std::make_unique<Board>("lct." + std::to_string(opened++));
  } catch (const std::runtime_error& error) {
    end(error.what());
  }
  return *current;
}

void check_text(const char* what, const char* text) {
  if (text == nullptr || std::strlen(text) >= LCT_PMI_STRING_LIMIT)
    end(std::string("LCT_pmi: the ") + what + (text == nullptr ? " is null" : " is too long: ") +
        (text == nullptr ? "" : text));
}

}  // namespace

extern "C" {

void LCT_pmi_initialize() {
  const std::lock_guard lock(mutex);
  board();
}
int LCT_pmi_initialized() {
  const std::lock_guard lock(mutex);
  return current != nullptr ? 1 : 0;
}
int LCT_pmi_get_rank() {
  const std::lock_guard lock(mutex);
  return board().rank();
}
int LCT_pmi_get_size() {
  const std::lock_guard lock(mutex);
  return board().size();
}
void LCT_pmi_publish(char* key, char* value) {
  check_text("key", key);
  check_text("value", value);
  const std::lock_guard lock(mutex);
  board().publish(key, value);
}
void LCT_pmi_getname(int rank, char* key, char* value) {
  check_text("key", key);
  const std::lock_guard lock(mutex);
  const std::string* const found = board().find(rank, key);
  if (found == nullptr)
    end("LCT_pmi_getname: rank " + std::to_string(rank) + " has published no '" + key +
        "' before the last LCT_pmi_barrier()");
  std::memcpy(value, found->c_str(), found->size() + 1);
}
void LCT_pmi_barrier() {
  const std::lock_guard lock(mutex);
  try {
    board().exchange();
  } catch (const weft::Error& error) {
    end(error.what());
  }
}
void LCT_pmi_finalize() {
  const std::lock_guard lock(mutex);
  current.reset();
}

}  // extern "C"
