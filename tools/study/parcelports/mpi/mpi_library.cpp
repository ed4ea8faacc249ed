#include "study/parcelports/mpi/mpi_library.hpp"

#include <weft/error.hpp>

#include <dlfcn.h>

#include <array>
#include <cstdlib>
#include <mutex>
#include <vector>

namespace weft::parcel::ports::mpi {

namespace {

Library loaded;
bool is_loaded = false;

/// By the name under which Debian and the wheels of PyPI install them: of Open MPI 4 and 5, MPICH's ABI, and
/// MPICH in Debian.
std::vector<const char*> candidates() {
  if (std::getenv("OMPI_COMM_WORLD_SIZE") != nullptr) return {"libmpi.so.40"};
  if (std::getenv("PMI_RANK") != nullptr || std::getenv("PMI_FD") != nullptr)
    return {"libmpich.so.12", "libmpi.so.12"};
  return {"libmpich.so.12", "libmpi.so.12", "libmpi.so.40"};
}

void* open(std::string_view path) {
  void* const own = ::dlsym(RTLD_DEFAULT, "MPI_Init_thread");
  if (!path.empty()) {
    void* const opened = ::dlopen(std::string(path).c_str(), RTLD_NOW | (own == nullptr ? RTLD_GLOBAL : 0));
    if (opened == nullptr) throw Error("parcel option mpi_library: " + std::string(::dlerror()));
    if (own != nullptr && ::dlsym(opened, "MPI_Init_thread") != own)
      throw Error("parcel option mpi_library: the program has another MPI library than " + std::string(path) +
                  " already");
    return opened;
  }
  if (own != nullptr) return ::dlopen(nullptr, RTLD_NOW);
  std::string tried;
  for (const char* const name : candidates()) {
    // Open MPI's own plugins look for its functions among the global ones.
    if (void* const opened = ::dlopen(name, RTLD_NOW | RTLD_GLOBAL); opened != nullptr) return opened;
    tried += (tried.empty() ? "" : ", ") + std::string(name);
  }
  throw Error("parcel option port=mpi: no MPI library was found (" + tried +
              "); install one, or name its file by the option mpi_library");
}

template <class Function>
void find(void* from, const char* name, Function& function) {
  function = reinterpret_cast<Function>(::dlsym(from, name));
  if (function == nullptr) throw Error(std::string("MPI: the library has no ") + name);
}

void look_up(void* from, Library& library) {
  find(from, "MPI_Initialized", library.Initialized);
  find(from, "MPI_Finalized", library.Finalized);
  find(from, "MPI_Init_thread", library.Init_thread);
  find(from, "MPI_Query_thread", library.Query_thread);
  find(from, "MPI_Finalize", library.Finalize);
  find(from, "MPI_Comm_dup", library.Comm_dup);
  find(from, "MPI_Comm_rank", library.Comm_rank);
  find(from, "MPI_Comm_size", library.Comm_size);
  find(from, "MPI_Comm_get_attr", library.Comm_get_attr);
  find(from, "MPI_Comm_set_errhandler", library.Comm_set_errhandler);
  find(from, "MPI_Allgather", library.Allgather);
  find(from, "MPI_Isend", library.Isend);
  find(from, "MPI_Irecv", library.Irecv);
  find(from, "MPI_Test", library.Test);
  find(from, "MPI_Wait", library.Wait);
  find(from, "MPI_Cancel", library.Cancel);
  find(from, "MPI_Get_count", library.Get_count);
  find(from, "MPI_Error_string", library.Error_string);
  void* const world = ::dlsym(from, "ompi_mpi_comm_world");
  if (world != nullptr) {
    library.name = "Open MPI";
    library.world = reinterpret_cast<Word>(world);
    library.byte = reinterpret_cast<Word>(::dlsym(from, "ompi_mpi_byte"));
    library.errors_return = reinterpret_cast<Word>(::dlsym(from, "ompi_mpi_errors_return"));
    library.status_ignore = nullptr;
    library.any_source = -1;
    library.tag_ub = 0;
  } else {
    // The ABI that MPICH and its relatives agreed on in 2013.
    library.name = "MPICH";
    library.world = 0x44000000;
    library.byte = 0x4c00010d;
    library.errors_return = 0x54000001;
    library.status_ignore = reinterpret_cast<void*>(1);
    library.any_source = -2;
    library.tag_ub = 0x64400001;
  }
}

void finalize() {
  int is_finalized = 0;
  if (loaded.Finalized(&is_finalized) == 0 && is_finalized == 0) loaded.Finalize();
}

void initialize(const Library& library) {
  int is_initialized = 0;
  int is_finalized = 0;
  int level = 0;
  check(library, library.Initialized(&is_initialized), "MPI_Initialized");
  check(library, library.Finalized(&is_finalized), "MPI_Finalized");
  if (is_finalized != 0) throw Error("MPI: the program has called MPI_Finalize already");
  if (is_initialized == 0) {
    check(library, library.Init_thread(nullptr, nullptr, Library::kThreadMultiple, &level),
          "MPI_Init_thread");
    std::atexit(finalize);
  } else {
    check(library, library.Query_thread(&level), "MPI_Query_thread");
  }
  if (level < Library::kThreadMultiple)
    throw Error("MPI: the thread level is " + std::to_string(level) +
                "; the parcelport needs MPI_THREAD_MULTIPLE (3): call MPI_Init_thread with it");
}

}  // namespace

const Library& library(std::string_view path) {
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  if (is_loaded) {
    static_cast<void>(open(path));  // refuses another library
  } else {
    look_up(open(path), loaded);
    initialize(loaded);
    is_loaded = true;
  }
  return loaded;
}

void check(const Library& library, int code, const char* call) {
  if (code == 0) return;
  std::array<char, 4096> text{};
  int length = 0;
  if (library.Error_string(code, text.data(), &length) != 0) length = 0;
  throw Error(std::string("MPI: ") + call + " has failed: " + std::string(text.data(), length));
}

}  // namespace weft::parcel::ports::mpi
