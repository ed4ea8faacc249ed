#include "bindings/mpi/info/info.hpp"

#include "bindings/mpi/errors/failure.hpp"
#include "bindings/mpi/info/info_calls.hpp"

#include <unistd.h>
#include <algorithm>
#include <cstdio>
#include <cstring>

namespace weft::mpi {

const std::string* Info::find_value(const std::string& key) const {
  for (const auto& [name, value] : entries)
    if (name == key) return &value;
  return nullptr;
}

void Info::set(const std::string& key, const std::string& value) {
  for (auto& [name, old] : entries)
    if (name == key) {
      old = value;
      return;
    }
  entries.emplace_back(key, value);
}

Info* copy_of(const Info* info) {
  auto* const copy = new Info;
  if (info != nullptr) copy->entries = info->entries;
  return copy;
}

Info* hints_in(const Info* info) {
  Info* const hints = copy_of(info);
  std::erase_if(hints->entries, [](const auto& entry) { return !entry.first.starts_with("mpi_"); });
  return hints;
}

namespace {

Info& needed(Info* info) {
  if (info == nullptr)
    fail(MPI_ERR_INFO, "the info object is MPI_INFO_NULL; one of MPI_Info_create is needed");
  return *info;
}

std::string checked_key(const char* key) {
  const std::size_t length = key != nullptr ? std::strlen(key) : 0;
  if (length == 0 || length >= MPI_MAX_INFO_KEY)
    fail(MPI_ERR_INFO_KEY, "a key of %zu characters; 1 to %d are possible", length, MPI_MAX_INFO_KEY - 1);
  return key;
}

/// The predefined MPI_INFO_ENV, which programs cannot change.
struct EnvironmentInfo : Info {
  EnvironmentInfo() {
    char host[256] = {};
    ::gethostname(host, sizeof host - 1);
    set("host", host);
    char directory[4096];
    if (::getcwd(directory, sizeof directory) != nullptr) set("wdir", directory);
    char program[4096] = {};
    if (const ssize_t length = ::readlink("/proc/self/exe", program, sizeof program - 1); length > 0)
      set("command", program);
    set("thread_level", "MPI_THREAD_MULTIPLE");
    define(MPI_INFO_ENV, *this);
  }
};
EnvironmentInfo environment_info;

Info& changeable(Info* info) {
  if (info == &environment_info)
    fail(MPI_ERR_INFO, "MPI_INFO_ENV cannot be changed; MPI_Info_dup makes a copy");
  return needed(info);
}

}  // namespace

void info_create(MPI_Info* info) { *info = handle_of<MPI_Info>(new Info); }
void info_create_env(int, char**, MPI_Info* info) { *info = handle_of<MPI_Info>(copy_of(&environment_info)); }

void info_delete(Info* info, const char* key) {
  auto& entries = changeable(info).entries;
  const std::string name = checked_key(key);
  const auto found =
      std::find_if(entries.begin(), entries.end(), [&](const auto& entry) { return entry.first == name; });
  if (found == entries.end()) fail(MPI_ERR_INFO_NOKEY, "key '%s' is not in the info object", key);
  entries.erase(found);
}

void info_dup(Info* info, MPI_Info* copy) { *copy = handle_of<MPI_Info>(copy_of(&needed(info))); }

void info_free(MPI_Info* handle) {
  Info* const info = find<Info>(*handle);
  release(&changeable(info));
  *handle = MPI_INFO_NULL;
}

void info_get(Info* info, const char* key, int length, char* value, int* flag) {
  const std::string* const found = needed(info).find_value(checked_key(key));
  *flag = found != nullptr ? 1 : 0;
  if (found == nullptr) return;
  if (length < 0) fail(MPI_ERR_ARG, "a value of %d characters; 0 or more are needed", length);
  std::snprintf(value, static_cast<std::size_t>(length) + 1, "%s", found->c_str());
}

void info_get_nkeys(Info* info, int* count) { *count = static_cast<int>(needed(info).entries.size()); }

void info_get_nthkey(Info* info, int index, char* key) {
  const auto& entries = needed(info).entries;
  if (index < 0 || static_cast<std::size_t>(index) >= entries.size())
    fail(MPI_ERR_ARG, "key number %d of an info object with %zu keys", index, entries.size());
  std::snprintf(key, MPI_MAX_INFO_KEY, "%s", entries[static_cast<std::size_t>(index)].first.c_str());
}

void info_get_string(Info* info, const char* key, int* length, char* value, int* flag) {
  const std::string* const found = needed(info).find_value(checked_key(key));
  *flag = found != nullptr ? 1 : 0;
  if (found == nullptr) return;
  if (*length > 0) std::snprintf(value, static_cast<std::size_t>(*length), "%s", found->c_str());
  *length = static_cast<int>(found->size()) + 1;
}

void info_get_valuelen(Info* info, const char* key, int* length, int* flag) {
  const std::string* const found = needed(info).find_value(checked_key(key));
  *flag = found != nullptr ? 1 : 0;
  if (found != nullptr) *length = static_cast<int>(found->size());
}

void info_set(Info* info, const char* key, const char* value) {
  Info& changed = changeable(info);
  const std::string name = checked_key(key);
  if (value == nullptr || std::strlen(value) >= MPI_MAX_INFO_VAL)
    fail(MPI_ERR_INFO_VALUE, "the value of '%s' has %zu characters; up to %d are possible", key,
         value == nullptr ? std::size_t{0} : std::strlen(value), MPI_MAX_INFO_VAL - 1);
  changed.set(name, value);
}

}  // namespace weft::mpi
