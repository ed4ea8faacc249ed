#include "perf/libraries/plugin_host.hpp"

#include <weft/error.hpp>
#include <weft/runtime.hpp>

#include <dlfcn.h>
#include <fmt/core.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <new>

#include "common/pinning.hpp"
#include "experiment/launch/child_process.hpp"
#include "experiment/launch/weft_path.hpp"
#include "perf/libraries/plugin_call.hpp"
#include "perf/measure/forked_ranks.hpp"

namespace weft::tools::perf {
namespace {

struct Board {
  static constexpr std::size_t kRoom = 16384;
  static constexpr std::size_t kMostRanks = 16;
  struct Side {
    std::atomic<std::uint32_t> turn{0};
    std::size_t size = 0;
    std::byte bytes[kRoom];
  };
  Side sides[kMostRanks][2];  // by rank, then by even and odd turn
};

class BoardMeeting final : public Meeting {
 public:
  BoardMeeting(Board& board, int rank, int ranks)
      : Meeting(rank), board_(board), ranks_(static_cast<std::size_t>(ranks)) {}
  std::vector<std::vector<std::byte>> gather(ByteView mine) override {
    if (mine.size() > Board::kRoom)
      throw Error(fmt::format("{} bytes to give, room for {}", mine.size(), Board::kRoom));
    const std::size_t odd = ++turn_ % 2;
    Board::Side& own = board_.sides[rank_][odd];
    // The former content was read before the other ranks took their last turn, which this rank has seen.
    own.size = mine.size();
    if (!mine.empty()) std::memcpy(own.bytes, mine.data(), mine.size());
    own.turn.store(turn_, std::memory_order_release);
    std::vector<std::vector<std::byte>> all;
    for (std::size_t rank = 0; rank < ranks_; ++rank) {
      const Board::Side& side = board_.sides[rank][odd];
      // Pairs with the release above, in the other rank.
      while (side.turn.load(std::memory_order_acquire) != turn_) ::usleep(50);
      all.emplace_back(side.bytes, side.bytes + side.size);
    }
    return all;
  }

 private:
  Board& board_;
  const std::size_t ranks_;
  std::uint32_t turn_ = 0;
};

/// Ranks on several hosts meet by weft.
class RuntimeMeeting final : public Meeting {
 public:
  explicit RuntimeMeeting(Runtime& runtime) : Meeting(runtime.rank()), runtime_(runtime) {}
  std::vector<std::vector<std::byte>> gather(ByteView mine) override {
    std::vector<std::byte> own(kRoom);
    const std::uint64_t size = mine.size();
    if (size > kRoom - sizeof size) throw Error(fmt::format("{} bytes to give, room for {}", size, kRoom));
    std::memcpy(own.data(), &size, sizeof size);
    if (size != 0) std::memcpy(own.data() + sizeof size, mine.data(), size);
    std::vector<std::byte> all(kRoom * static_cast<std::size_t>(runtime_.size()));
    runtime_.allgather(own, all);
    std::vector<std::vector<std::byte>> by_rank;
    for (auto part = all.begin(); part != all.end(); part += kRoom) {
      std::uint64_t given = 0;
      std::memcpy(&given, &*part, sizeof given);
      const auto first = part + sizeof given;
      by_rank.emplace_back(first, first + static_cast<std::ptrdiff_t>(given));
    }
    return by_rank;
  }

 private:
  static constexpr std::ptrdiff_t kRoom = 1024;
  Runtime& runtime_;
};

void call_plugin(const std::string& file, PluginCall& call) {
  // Some libraries load further parts, which look for symbols of the first part.
  void* library = ::dlopen(file.c_str(), RTLD_NOW | RTLD_GLOBAL);
  if (library == nullptr) throw Error(::dlerror());
  const auto entry = reinterpret_cast<PluginEntry>(::dlsym(library, kPluginEntry));
  if (entry == nullptr) throw Error(fmt::format("{} was built for another version of this program", file));
  entry(call);
  if (!call.error.empty()) throw Error(call.error);
  for (Outcome& outcome : call.outcomes) {
    outcome.peer_library = call.peer_library;
    print(outcome);
  }
}

/// The path of a file in the folder of plugins.
std::string path_of(const std::string& name) {
  const std::string program = weft_path();
  return fmt::format("{}/{}/{}", program.substr(0, program.rfind('/')), WEFT_PERF_PLUGIN_FOLDER, name);
}

int rank_of_launcher() {
  for (const char* name : {"PMI_RANK", "OMPI_COMM_WORLD_RANK", "PMIX_RANK"})
    if (const char* rank = std::getenv(name); rank != nullptr) return std::atoi(rank);
  return 0;
}

}  // namespace

std::string find_plugin(const std::string& name) {
  std::string file = path_of(name + ".so");
  return ::access(file.c_str(), R_OK) == 0 ? file : std::string();
}

std::string find_launcher(const std::string& plugin, const std::string& name) {
  std::ifstream file(path_of(plugin + ".launcher"));
  if (!file) return find_in_path(name);
  std::string program;
  std::getline(file, program);
  return ::access(program.c_str(), X_OK) == 0 ? program : std::string();
}

int run_plugin(const Task& task, const std::string& name, bool launched) {
  const std::string file = find_plugin(name);
  if (file.empty()) throw Error(fmt::format("there is no plugin for {}", name));
  PluginCall call;
  call.task = &task;
  if (launched) {
    pin_thread(task.processors, static_cast<std::size_t>(rank_of_launcher()));
    call_plugin(file, call);
    return 0;
  }
  if (task.apart) {
    Runtime runtime;
    RuntimeMeeting meeting(runtime);
    call.rank = runtime.rank();
    call.meeting = &meeting;
    pin_thread(task.processors, static_cast<std::size_t>(call.rank));
    call_plugin(file, call);
    return 0;
  }
  const SharedMemory memory(sizeof(Board));
  Board& board = *new (memory.data()) Board;
  const auto run = [&](int rank) {
    BoardMeeting meeting(board, rank, task.ranks);
    call.rank = rank;
    call.meeting = &meeting;
    call_plugin(file, call);
  };
  return run_ranks(task, run) ? 0 : 1;
}

}  // namespace weft::tools::perf
