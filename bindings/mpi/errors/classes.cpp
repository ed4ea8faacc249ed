#include "bindings/mpi/errors/classes.hpp"

#include "bindings/mpi/errors/errors_calls.hpp"
#include "bindings/mpi/errors/failure.hpp"

#include <cstdio>
#include <cstring>
#include <mutex>
#include <vector>

namespace weft::mpi {

namespace {

struct Text {
  int code;
  const char* name;
  const char* text;
};
#define WEFT_MPI_CLASS(name, text) \
  { name, #name, text }
constexpr Text kTexts[] = {
    {MPI_SUCCESS, "MPI_SUCCESS", "no error"},
    WEFT_MPI_CLASS(MPI_ERR_BUFFER, "the buffer is not valid"),
    WEFT_MPI_CLASS(MPI_ERR_COUNT, "the count is not valid"),
    WEFT_MPI_CLASS(MPI_ERR_TYPE, "the datatype is not valid"),
    WEFT_MPI_CLASS(MPI_ERR_TAG, "the tag is not valid"),
    WEFT_MPI_CLASS(MPI_ERR_COMM, "the communicator is not valid"),
    WEFT_MPI_CLASS(MPI_ERR_RANK, "the rank is not valid"),
    WEFT_MPI_CLASS(MPI_ERR_REQUEST, "the request is not valid"),
    WEFT_MPI_CLASS(MPI_ERR_ROOT, "the root is not valid"),
    WEFT_MPI_CLASS(MPI_ERR_GROUP, "the group is not valid"),
    WEFT_MPI_CLASS(MPI_ERR_OP, "the operation is not valid"),
    WEFT_MPI_CLASS(MPI_ERR_TOPOLOGY, "the topology is not valid"),
    WEFT_MPI_CLASS(MPI_ERR_DIMS, "the dimensions are not valid"),
    WEFT_MPI_CLASS(MPI_ERR_ARG, "an argument is not valid"),
    WEFT_MPI_CLASS(MPI_ERR_UNKNOWN, "unknown error"),
    WEFT_MPI_CLASS(MPI_ERR_TRUNCATE, "the message was longer than the buffer"),
    WEFT_MPI_CLASS(MPI_ERR_OTHER, "the call failed"),
    WEFT_MPI_CLASS(MPI_ERR_INTERN, "a fault of the library"),
    WEFT_MPI_CLASS(MPI_ERR_PENDING, "the operation has not ended"),
    WEFT_MPI_CLASS(MPI_ERR_IN_STATUS, "the error is in the status"),
    WEFT_MPI_CLASS(MPI_ERR_ACCESS, "access to the file is denied"),
    WEFT_MPI_CLASS(MPI_ERR_AMODE, "the access mode is not valid"),
    WEFT_MPI_CLASS(MPI_ERR_ASSERT, "the assertion is not valid"),
    WEFT_MPI_CLASS(MPI_ERR_BAD_FILE, "the file name is not valid"),
    WEFT_MPI_CLASS(MPI_ERR_BASE, "the base address is not valid"),
    WEFT_MPI_CLASS(MPI_ERR_CONVERSION, "a conversion function failed"),
    WEFT_MPI_CLASS(MPI_ERR_DISP, "the displacement is not valid"),
    WEFT_MPI_CLASS(MPI_ERR_DUP_DATAREP, "the data representation is defined already"),
    WEFT_MPI_CLASS(MPI_ERR_FILE_EXISTS, "the file exists"),
    WEFT_MPI_CLASS(MPI_ERR_FILE_IN_USE, "the file is in use"),
    WEFT_MPI_CLASS(MPI_ERR_FILE, "the file handle is not valid"),
    WEFT_MPI_CLASS(MPI_ERR_INFO_KEY, "the key is not valid"),
    WEFT_MPI_CLASS(MPI_ERR_INFO_NOKEY, "the key is not in the info object"),
    WEFT_MPI_CLASS(MPI_ERR_INFO_VALUE, "the value is not valid"),
    WEFT_MPI_CLASS(MPI_ERR_INFO, "the info object is not valid"),
    WEFT_MPI_CLASS(MPI_ERR_IO, "input or output failed"),
    WEFT_MPI_CLASS(MPI_ERR_KEYVAL, "the attribute key is not valid"),
    WEFT_MPI_CLASS(MPI_ERR_LOCKTYPE, "the lock type is not valid"),
    WEFT_MPI_CLASS(MPI_ERR_NAME, "the service name is not known"),
    WEFT_MPI_CLASS(MPI_ERR_NO_MEM, "there is not enough memory"),
    WEFT_MPI_CLASS(MPI_ERR_NOT_SAME, "the argument is not the same on all ranks"),
    WEFT_MPI_CLASS(MPI_ERR_NO_SPACE, "there is not enough space"),
    WEFT_MPI_CLASS(MPI_ERR_NO_SUCH_FILE, "there is no such file"),
    WEFT_MPI_CLASS(MPI_ERR_PORT, "the port name is not valid"),
    WEFT_MPI_CLASS(MPI_ERR_QUOTA, "a quota is exceeded"),
    WEFT_MPI_CLASS(MPI_ERR_READ_ONLY, "the file or file system is read-only"),
    WEFT_MPI_CLASS(MPI_ERR_RMA_ATTACH, "the memory cannot be attached"),
    WEFT_MPI_CLASS(MPI_ERR_RMA_CONFLICT, "conflicting accesses to the window"),
    WEFT_MPI_CLASS(MPI_ERR_RMA_RANGE, "the target memory is not part of the window"),
    WEFT_MPI_CLASS(MPI_ERR_RMA_SHARED, "the memory cannot be shared"),
    WEFT_MPI_CLASS(MPI_ERR_RMA_SYNC, "wrong synchronisation of window accesses"),
    WEFT_MPI_CLASS(MPI_ERR_SERVICE, "the service name cannot be published"),
    WEFT_MPI_CLASS(MPI_ERR_SIZE, "the size is not valid"),
    WEFT_MPI_CLASS(MPI_ERR_SPAWN, "processes cannot be spawned"),
    WEFT_MPI_CLASS(MPI_ERR_UNSUPPORTED_DATAREP, "the data representation is not supported"),
    WEFT_MPI_CLASS(MPI_ERR_UNSUPPORTED_OPERATION, "weft-mpi does not have this operation"),
    WEFT_MPI_CLASS(MPI_ERR_WIN, "the window is not valid"),
    WEFT_MPI_CLASS(MPI_ERR_RMA_FLAVOR, "the flavour of the window does not allow it"),
    WEFT_MPI_CLASS(MPI_ERR_PROC_ABORTED, "a peer process has ended"),
    WEFT_MPI_CLASS(MPI_ERR_VALUE_TOO_LARGE, "the value does not fit its type"),
    WEFT_MPI_CLASS(MPI_ERR_SESSION, "the session is not valid"),
    WEFT_MPI_CLASS(MPI_ERR_ERRHANDLER, "the error handler is not valid"),
    WEFT_MPI_CLASS(MPI_ERR_ABI, "the ABI is not the expected one"),
    WEFT_MPI_CLASS(MPI_T_ERR_CANNOT_INIT, "the tool interface cannot be initialised"),
    WEFT_MPI_CLASS(MPI_T_ERR_NOT_ACCESSIBLE, "the tool interface cannot be used now"),
    WEFT_MPI_CLASS(MPI_T_ERR_NOT_INITIALIZED, "the tool interface is not initialised"),
    WEFT_MPI_CLASS(MPI_T_ERR_NOT_SUPPORTED, "the tool interface does not have this operation"),
    WEFT_MPI_CLASS(MPI_T_ERR_MEMORY, "there is not enough memory for the tool"),
    WEFT_MPI_CLASS(MPI_T_ERR_INVALID, "an argument of the tool is not valid"),
    WEFT_MPI_CLASS(MPI_T_ERR_INVALID_INDEX, "there is nothing with this index"),
    WEFT_MPI_CLASS(MPI_T_ERR_INVALID_ITEM, "the item is not in the enumeration"),
    WEFT_MPI_CLASS(MPI_T_ERR_INVALID_SESSION, "the session of the tool is not valid"),
    WEFT_MPI_CLASS(MPI_T_ERR_INVALID_HANDLE, "the handle of the tool is not valid"),
    WEFT_MPI_CLASS(MPI_T_ERR_INVALID_NAME, "there is nothing with this name"),
    WEFT_MPI_CLASS(MPI_T_ERR_OUT_OF_HANDLES, "there are no more handles"),
    WEFT_MPI_CLASS(MPI_T_ERR_OUT_OF_SESSIONS, "there are no more sessions"),
    WEFT_MPI_CLASS(MPI_T_ERR_CVAR_SET_NOT_NOW, "the control variable cannot be set now"),
    WEFT_MPI_CLASS(MPI_T_ERR_CVAR_SET_NEVER, "the control variable cannot be set"),
    WEFT_MPI_CLASS(MPI_T_ERR_PVAR_NO_WRITE, "the performance variable cannot be written"),
    WEFT_MPI_CLASS(MPI_T_ERR_PVAR_NO_STARTSTOP, "the performance variable cannot be started or stopped"),
    WEFT_MPI_CLASS(MPI_T_ERR_PVAR_NO_ATOMIC, "the performance variable cannot be read and reset at once"),
};
#undef WEFT_MPI_CLASS

struct Added {
  bool is_class = false;
  bool is_there = false;
  int error_class = 0;
  std::string text;
};
struct AddedCodes {
  std::mutex mutex;
  std::vector<Added> codes;  // by code - MPI_ERR_LASTCODE - 1
  int last_used = MPI_ERR_LASTCODE;

  Added* find(int code) {
    const auto index = static_cast<std::size_t>(code - MPI_ERR_LASTCODE - 1);
    return code > MPI_ERR_LASTCODE && index < codes.size() && codes[index].is_there ? &codes[index] : nullptr;
  }
  int add(bool is_class, int error_class) {
    const int code = MPI_ERR_LASTCODE + 1 + static_cast<int>(codes.size());
    codes.push_back({is_class, true, is_class ? code : error_class, {}});
    last_used = code;
    return code;
  }
  void remove(int code, bool is_class, const char* what) {
    Added* const added = find(code);
    if (added == nullptr || added->is_class != is_class)
      fail(MPI_ERR_ARG, "%s %d is none that this program has added and not removed", what, code);
    if (!added->text.empty()) fail(MPI_ERR_OTHER, "%s %d still has a string; remove it first", what, code);
    if (is_class)
      for (const Added& other : codes)
        if (other.is_there && !other.is_class && other.error_class == code)
          fail(MPI_ERR_OTHER, "error class %d still has codes; remove them first", code);
    *added = {};
    while (!codes.empty() && !codes.back().is_there) codes.pop_back();
    last_used = MPI_ERR_LASTCODE + static_cast<int>(codes.size());
  }
};
AddedCodes& added_codes() {
  static AddedCodes* const added = new AddedCodes;
  return *added;
}

const Text* text_of(int code) noexcept {
  for (const Text& text : kTexts)
    if (text.code == code) return &text;
  return nullptr;
}

struct LastFailure {
  int code = MPI_SUCCESS;
  std::string text;
};
thread_local LastFailure last_failure;

}  // namespace

void remember_failure(int code, const std::string& text) { last_failure = {code, text}; }

const char* name_of_class(int error_class) noexcept {
  const Text* const text = text_of(error_class);
  return text != nullptr ? text->name : "";
}

int class_of_code(int code) {
  if (text_of(code) != nullptr) return code;
  const std::lock_guard lock(added_codes().mutex);
  const Added* const added = added_codes().find(code);
  return added != nullptr ? added->error_class : MPI_ERR_UNKNOWN;
}

int write_error_text(int code, char* text) {
  const std::lock_guard lock(added_codes().mutex);
  if (const Text* const own = text_of(code); own != nullptr) {
    const bool has_detail = code != MPI_SUCCESS && last_failure.code == code && !last_failure.text.empty();
    std::snprintf(text, MPI_MAX_ERROR_STRING, "%s: %s%s%s", own->name, own->text, has_detail ? ": " : "",
                  has_detail ? last_failure.text.c_str() : "");
  } else if (const Added* const added = added_codes().find(code); added != nullptr) {
    std::snprintf(text, MPI_MAX_ERROR_STRING, "%s", added->text.c_str());
  } else {
    fail(MPI_ERR_ARG, "error code %d is none of MPI's and none that this program has added", code);
  }
  return static_cast<int>(std::strlen(text));
}

const int* last_used_code() noexcept { return &added_codes().last_used; }

void add_error_class(int* error_class) {
  const std::lock_guard lock(added_codes().mutex);
  *error_class = added_codes().add(true, 0);
}
void add_error_code(int error_class, int* code) {
  const std::lock_guard lock(added_codes().mutex);
  const Added* const added = added_codes().find(error_class);
  if (text_of(error_class) == nullptr && (added == nullptr || !added->is_class))
    fail(MPI_ERR_ARG, "error class %d is none; MPI_Add_error_class makes one", error_class);
  *code = added_codes().add(false, error_class);
}
void add_error_string(int code, const char* text) {
  const std::lock_guard lock(added_codes().mutex);
  Added* const added = added_codes().find(code);
  if (added == nullptr) fail(MPI_ERR_ARG, "error code %d is none that this program has added", code);
  added->text = text;
}
void remove_error_class(int error_class) {
  const std::lock_guard lock(added_codes().mutex);
  added_codes().remove(error_class, true, "error class");
}
void remove_error_code(int code) {
  const std::lock_guard lock(added_codes().mutex);
  added_codes().remove(code, false, "error code");
}
void remove_error_string(int code) {
  const std::lock_guard lock(added_codes().mutex);
  Added* const added = added_codes().find(code);
  if (added == nullptr) fail(MPI_ERR_ARG, "error code %d is none that this program has added", code);
  added->text.clear();
}
void error_class(int code, int* result) {
  const int found = class_of_code(code);
  if (found == MPI_ERR_UNKNOWN && code != MPI_ERR_UNKNOWN)
    fail(MPI_ERR_ARG, "error code %d is none of MPI's and none that this program has added", code);
  *result = found;
}
void error_string(int code, char* text, int* length) { *length = write_error_text(code, text); }

}  // namespace weft::mpi
