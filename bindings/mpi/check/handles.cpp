#include "bindings/mpi/check/handles.hpp"

#include "bindings/mpi/communicators/communicator.hpp"
#include "bindings/mpi/datatypes/datatypes_calls.hpp"

#include <cstdint>
#include <map>
#include <mutex>

namespace weft::mpi {

namespace {

struct Given {
  HandleClass kind = HandleClass::communicator;
  CallSite site;            // that has made it
  std::uint64_t order = 0;  // in which they were made
  std::uint64_t count = 0;  // how often it was given: groups are shared
};

struct GivenHandles {
  std::mutex mutex;
  std::map<const void*, Given> all;
  std::uint64_t made = 0;
};
GivenHandles& handles() {
  static GivenHandles& given = *new GivenHandles;
  return given;
}

const char* name_of(HandleClass kind, bool is_one) noexcept {
  switch (kind) {
    case HandleClass::communicator:
      return is_one ? "communicator" : "communicators";
    case HandleClass::datatype:
      return is_one ? "datatype" : "datatypes";
    case HandleClass::group:
      return is_one ? "group" : "groups";
    case HandleClass::operation:
      return is_one ? "operation" : "operations";
    case HandleClass::info:
      return is_one ? "info object" : "info objects";
    case HandleClass::errhandler:
      return is_one ? "error handler" : "error handlers";
    case HandleClass::window:
      return is_one ? "window" : "windows";
  }
  return "objects";
}

/// An immediate duplication gives its handle before it can fail; there is nothing to free then.
bool has_come_into_being(const void* handle, HandleClass kind) {
  if (kind != HandleClass::communicator) return true;
  const auto communicator = reinterpret_cast<MPI_Comm>(const_cast<void*>(handle));
  return find<Communicator>(communicator)->context != kNoContext;
}

LeftAt left_at(HandleClass kind) noexcept {
  return kind == HandleClass::info || kind == HandleClass::errhandler ? LeftAt::exit : LeftAt::finalize;
}

}  // namespace

void note_handle(const void* handle, HandleClass kind) {
  if (reinterpret_cast<std::uintptr_t>(handle) < kPredefinedHandles) return;
  const std::lock_guard lock(handles().mutex);
  Given& given = handles().all[handle];
  if (given.count++ == 0) given = {kind, CallSite::current(), handles().made++, 1};
}

void note_handles_of_contents(MPI_Datatype datatype, const MPI_Datatype* contents) {
  MPI_Count integers = 0, addresses = 0, counts = 0, types = 0;
  int combiner = 0;
  type_get_envelope_c(*find<Datatype>(datatype), &integers, &addresses, &counts, &types, &combiner);
  for (MPI_Count index = 0; index < types; ++index) note_handle(contents[index], HandleClass::datatype);
}

void forget_handle(const void* handle) noexcept {
  const std::lock_guard lock(handles().mutex);
  const auto found = handles().all.find(handle);
  if (found != handles().all.end() && --found->second.count == 0) handles().all.erase(found);
}

std::string leaked_handles(LeftAt when) {
  struct Leaked {
    std::uint64_t count = 0;
    const Given* first = nullptr;
  };
  std::map<HandleClass, Leaked> leaked;
  const std::lock_guard lock(handles().mutex);
  for (const auto& [handle, given] : handles().all) {
    if (left_at(given.kind) != when || !has_come_into_being(handle, given.kind)) continue;
    Leaked& of_kind = leaked[given.kind];
    of_kind.count += given.count;
    if (of_kind.first == nullptr || given.order < of_kind.first->order) of_kind.first = &given;
  }
  std::string lines;
  for (const auto& [kind, of_kind] : leaked)
    lines += "weft-mpi: rank " + std::to_string(own_world_rank) +
             (when == LeftAt::finalize ? ": MPI_Finalize: " : ": the program has ended: ") +
             std::to_string(of_kind.count) + " " + name_of(kind, of_kind.count == 1) +
             (of_kind.count == 1 ? " was" : " were") + " never freed; the first was made by " +
             described(of_kind.first->site) + "\n";
  return lines;
}

}  // namespace weft::mpi
