// A library with an action; ACTION_ANSWER is what that returns. Libraries of other answers have the same
// names.
#include <weft/parcel/parcel.hpp>

#include <string>

namespace {
std::string answer_of_library() { return ACTION_ANSWER; }
}  // namespace

extern "C" __attribute__((visibility("default"))) const char* ask(weft::parcel::Runtime& runtime, int rank) {
  static std::string text;
  try {
    text = runtime.async(rank, weft::parcel::action<&answer_of_library>).get();
  } catch (const std::exception& error) {
    text = error.what();
  }
  return text.c_str();
}
