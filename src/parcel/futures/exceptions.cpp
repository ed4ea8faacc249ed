#include <weft/parcel/exceptions.hpp>
#include <weft/parcel/runtime.hpp>

#include <cxxabi.h>

#include <mutex>
#include <string_view>
#include <typeindex>
#include <unordered_map>

namespace weft::parcel {

namespace detail {

namespace {

struct Named {
  const std::type_info* type;
  ExceptionEntry entry;
  bool is_ambiguous = false;
};
/// Types register themselves before main() and while ranks run.
struct Registry {
  std::mutex mutex;
  std::unordered_map<std::type_index, std::string> names;
  std::unordered_map<std::string, Named> entries;
};
Registry& registry() {
  static Registry* const all = new Registry;  // outlives every runtime
  return *all;
}

}  // namespace

void add_exception(const std::type_info& type, const std::type_info& elsewhere, const ExceptionEntry& entry) {
  Registry& all = registry();
  const std::lock_guard lock(all.mutex);
  const std::string name = type.name();
  const auto [named, is_new] = all.entries.try_emplace(name, Named{&type, entry});
  // Types of two files that have the same name are not told apart on the way.
  if (!is_new && *named->second.type != type) named->second.is_ambiguous = true;
  all.names.emplace(type, name);
  all.names.emplace(elsewhere, name);
}

void write_exception(Writer& writer, const std::string& text) {
  Unchunked guard(writer);
  std::string name;
  ExceptionEntry entry{};
  if (const std::type_info* const type = abi::__cxa_current_exception_type(); type != nullptr) {
    Registry& all = registry();
    const std::lock_guard lock(all.mutex);
    if (const auto found = all.names.find(*type); found != all.names.end()) {
      const Named& named = all.entries.at(found->second);
      if (!named.is_ambiguous) {
        name = found->second;
        entry = named.entry;
      }
    }
  }
  std::string content;
  if (!name.empty()) {
    try {
      Writer inner(SIZE_MAX);
      entry.write(inner);
      const Bytes bytes = inner.written();
      content.assign(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    } catch (...) {
      name.clear();  // its text is what is left
    }
  }
  const std::uint8_t kind = name.empty() ? 1 : 2;
  writer(kind, text);
  if (!name.empty()) writer(name, content);
}

std::exception_ptr read_exception(Reader& reader, int rank, bool has_type) {
  Unchunked guard(reader);
  std::string text;
  std::string name;
  std::string content;
  reader(text);
  if (has_type) {
    reader(name, content);
    ExceptionEntry entry{};
    {
      Registry& all = registry();
      const std::lock_guard lock(all.mutex);
      if (const auto found = all.entries.find(name);
          found != all.entries.end() && !found->second.is_ambiguous)
        entry = found->second.entry;
    }
    if (entry.read != nullptr) {
      try {
        Reader inner(weft::Bytes(reinterpret_cast<const std::byte*>(content.data()), content.size()));
        std::exception_ptr error = entry.read(inner, rank);
        inner.finish();
        return error;
      } catch (...) {
        text += " (the exception itself could not be read)";
      }
    }
  }
  return std::make_exception_ptr(RemoteError(rank, text));
}

}  // namespace detail

std::optional<int> rank_of(const std::exception& error) noexcept {
  if (const auto* const remote = dynamic_cast<const RemoteError*>(&error)) return remote->rank();
  if (const auto* const failed = dynamic_cast<const PeerFailed*>(&error)) return failed->rank();
  if (const auto* const thrown = dynamic_cast<const detail::ThrownOn*>(&error)) return thrown->thrown_on();
  return std::nullopt;
}

}  // namespace weft::parcel
