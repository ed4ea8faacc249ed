// MPI_Pack and its like: bytes of this machine, and the external representation, which is the same on all.
#include "bindings/mpi/datatypes/datatypes_calls.hpp"
#include "bindings/mpi/datatypes/external32.hpp"
#include "bindings/mpi/datatypes/pack.hpp"
#include "bindings/mpi/errors/failure.hpp"

#include <cstring>

namespace weft::mpi {

namespace {

void check_room(const char* what, MPI_Count position, MPI_Count room, MPI_Count bytes) {
  if (position < 0 || position > room || bytes > room - position)
    fail(MPI_ERR_TRUNCATE, "%lld bytes at position %lld of %s of %lld", static_cast<long long>(bytes),
         static_cast<long long>(position), what, static_cast<long long>(room));
}

void check_representation(const char* name) {
  if (name == nullptr || std::strcmp(name, "external32") != 0)
    fail(MPI_ERR_ARG, "data representation '%s'; only external32 is known", name == nullptr ? "" : name);
}

}  // namespace

void pack(const void* from, MPI_Count count, Datatype& type, void* to, MPI_Count room, CountResult position,
          Communicator&) {
  const MPI_Count bytes = type.size * count;
  check_room("a buffer", position.get(), room, bytes);
  flatten(type);
  pack_elements(type, count, from, shifted(to, position.get()));
  position = position.get() + bytes;
}

void unpack(const void* from, MPI_Count room, CountResult position, void* to, MPI_Count count, Datatype& type,
            Communicator&) {
  const MPI_Count bytes = type.size * count;
  check_room("a buffer", position.get(), room, bytes);
  flatten(type);
  unpack_elements(type, count, shifted(from, position.get()), bytes, to);
  position = position.get() + bytes;
}

void pack_size(MPI_Count count, Datatype& type, Communicator&, CountResult size) { size = type.size * count; }

void pack_external(const char* representation, const void* from, MPI_Count count, Datatype& type, void* to,
                   MPI_Count room, CountResult position) {
  check_representation(representation);
  const MPI_Count bytes = external_size(type) * count;
  check_room("a buffer", position.get(), room, bytes);
  write_external(type, count, from, shifted(to, position.get()));
  position = position.get() + bytes;
}

void unpack_external(const char* representation, const void* from, MPI_Count room, CountResult position,
                     void* to, MPI_Count count, Datatype& type) {
  check_representation(representation);
  const MPI_Count bytes = external_size(type) * count;
  check_room("a buffer", position.get(), room, bytes);
  read_external(type, count, shifted(from, position.get()), to);
  position = position.get() + bytes;
}

void pack_external_size(const char* representation, MPI_Count count, Datatype& type, CountResult size) {
  check_representation(representation);
  size = external_size(type) * count;
}

}  // namespace weft::mpi
