// Ranks that load libraries of actions: library_rank late LIBRARY | same-names FIRST SECOND.
#include <weft/parcel/parcel.hpp>

#include <dlfcn.h>

#include <cstdio>
#include <string>

#include "support/rank_program.hpp"

namespace {

using weft::parcel::action;
using weft::parcel::Runtime;
using Ask = const char* (*)(Runtime&, int);

/// The function of the library that calls its action on a rank, and returns what came of it.
Ask load(const char* path) {
  void* const library = ::dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) weft::test::fail(::dlerror());
  return reinterpret_cast<Ask>(::dlsym(library, "ask"));
}

std::string echo(std::string text) { return text; }

/// The library comes when the runtime is there.
void late(const char* path) {
  Runtime runtime;
  const int other = runtime.size() - 1 - runtime.rank();
  auto before = runtime.async(other, action<&echo>, std::string("before"));
  std::printf("%s\n", load(path)(runtime, other));
  weft::test::require(before.get() == "before", "another call got its parcel");
  weft::test::require(runtime.async(other, action<&echo>, std::string("after")).get() == "after",
                      "no call works afterwards");
}

/// The ranks load them in another order.
void same_names(const char* first, const char* second) {
  const bool is_reversed =
      std::getenv("WEFT_RANK") != nullptr && std::string(std::getenv("WEFT_RANK")) == "1";
  const Ask one = load(is_reversed ? second : first);
  const Ask other = load(is_reversed ? first : second);
  Runtime runtime;
  const int there = runtime.size() - 1 - runtime.rank();
  const std::string a = (is_reversed ? other : one)(runtime, there);
  const std::string b = (is_reversed ? one : other)(runtime, there);
  std::printf("%s %s\n", a.c_str(), b.c_str());
}

}  // namespace

int main(int count, char** arguments) {
  const std::string mode = count > 1 ? arguments[1] : "";
  try {
    if (mode == "late" && count > 2)
      late(arguments[2]);
    else if (mode == "same-names" && count > 3)
      same_names(arguments[2], arguments[3]);
    else
      weft::test::fail("library_rank: unknown mode '" + mode + "'");
  } catch (const std::exception& error) {
    std::fprintf(stderr, "library_rank: %s\n", error.what());
    return 1;
  }
}
