// MPI's functions are looked up in the running program, so that a build needs no MPI. Handles are numbers in
// MPICH and its relatives, and addresses of objects in Open MPI; both fit a word.
#include "bootstrap/launchers/mpi/mpi.hpp"

#include <weft/error.hpp>

#include <dlfcn.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "bootstrap/launchers/sized_card.hpp"

namespace weft::bootstrap::contact {

namespace {

using Word = std::uintptr_t;

template <class Function>
Function find(const char* name) {
  return reinterpret_cast<Function>(::dlsym(RTLD_DEFAULT, name));
}

struct Handles {
  Word world;
  Word byte;
  void* no_status;
};

/// Of MPICH's ABI (2013) unless the objects of Open MPI are there.
Handles handles() {
  void* const world = ::dlsym(RTLD_DEFAULT, "ompi_mpi_comm_world");
  void* const byte = ::dlsym(RTLD_DEFAULT, "ompi_mpi_byte");
  if (world != nullptr && byte != nullptr)
    return {reinterpret_cast<Word>(world), reinterpret_cast<Word>(byte), nullptr};
  return {0x44000000, 0x4c00010d, reinterpret_cast<void*>(1)};
}

class Mpi final : public Contact {
 public:
  Mpi() : handles_(handles()) {
    const auto rank_of = find<int (*)(Word, int*)>("MPI_Comm_rank");
    const auto size_of = find<int (*)(Word, int*)>("MPI_Comm_size");
    if (!has_mpi() || rank_of == nullptr || size_of == nullptr)
      throw Error(ErrorClass::job,
                  "MPI: this program has no MPI library that is initialized: call MPI_Init before it makes a "
                  "weft::Runtime");
    if (rank_of(handles_.world, &rank_) != 0 || size_of(handles_.world, &size_) != 0)
      throw Error(ErrorClass::job, "MPI: MPI_Comm_rank or MPI_Comm_size has failed");
  }

  int rank() const override { return rank_; }
  int size() const override { return size_; }

  Cards exchange(std::span<const std::byte> own, const base::Deadline& deadline) override {
    using Gather = int (*)(const void*, int, Word, void*, int, Word, Word, void*);
    const auto gather = find<Gather>("MPI_Iallgather");
    const auto test = find<int (*)(void*, int*, void*)>("MPI_Test");
    if (gather == nullptr || test == nullptr)
      throw Error(ErrorClass::job, "MPI: this library has no MPI_Iallgather");
    // Released when the exchange has ended: MPI writes there until then, also after this function has given
    // up.
    auto buffers = std::make_unique<Buffers>();
    buffers->mine = to_sized(own);
    buffers->all.resize(static_cast<std::size_t>(size_));
    Word request = 0;
    constexpr int kCount = sizeof(SizedCard);
    if (gather(&buffers->mine, kCount, handles_.byte, buffers->all.data(), kCount, handles_.byte,
               handles_.world, &request) != 0)
      throw Error(ErrorClass::job, "MPI: MPI_Iallgather has failed");
    for (int is_over = 0; is_over == 0;) {
      if (test(&request, &is_over, handles_.no_status) != 0)
        throw Error(ErrorClass::job, "MPI: MPI_Test has failed");
      if (is_over != 0) break;
      if (deadline.passed()) {
        static_cast<void>(buffers.release());
        throw Error(ErrorClass::job,
                    "MPI: not all of the " + std::to_string(size_) +
                        " ranks of MPI_COMM_WORLD have made a weft::Runtime within the time limit "
                        "(WEFT_BOOTSTRAP_TIMEOUT)");
      }
      std::this_thread::yield();
    }
    Cards cards;
    for (const SizedCard& each : buffers->all) {
      auto card = from_sized(each);
      if (!card.has_value())
        throw Error(ErrorClass::job, "MPI: rank " + std::to_string(cards.size()) +
                                         " has sent something else than a rank of weft does");
      cards.push_back(*std::move(card));
    }
    return cards;
  }

  std::vector<std::string> report(const std::vector<int>& from, const std::string& own,
                                  const base::Deadline& deadline) override {
    const Cards all =
        exchange(std::as_bytes(std::span(own)).first(std::min(own.size(), kLongestReport)), deadline);
    std::vector<std::string> reports;
    for (const int rank : from) {
      const std::vector<std::byte>& text = all[static_cast<std::size_t>(rank)];
      reports.emplace_back(reinterpret_cast<const char*>(text.data()), text.size());
    }
    return reports;
  }

 private:
  struct Buffers {
    SizedCard mine;
    std::vector<SizedCard> all;
  };

  const Handles handles_;
  int rank_ = 0;
  int size_ = 0;
};

}  // namespace

bool has_mpi() {
  const auto initialized = find<int (*)(int*)>("MPI_Initialized");
  const auto finalized = find<int (*)(int*)>("MPI_Finalized");
  int is_initialized = 0;
  int is_finalized = 0;
  return initialized != nullptr && finalized != nullptr && initialized(&is_initialized) == 0 &&
         finalized(&is_finalized) == 0 && is_initialized != 0 && is_finalized == 0;
}

int size_of_mpi() {
  const auto size_of = find<int (*)(Word, int*)>("MPI_Comm_size");
  int size = 1;
  return size_of != nullptr && size_of(handles().world, &size) == 0 ? size : 1;
}

std::unique_ptr<Contact> join_mpi() { return std::make_unique<Mpi>(); }

}  // namespace weft::bootstrap::contact
