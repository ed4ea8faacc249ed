// Errors of calls that wait name the call that the program has made, and not the post that it makes.
#pragma once

#include <weft/error.hpp>

#include <string>
#include <string_view>

namespace weft::core {

/// Returns call(). A weft::Error whose text begins with `post`, the name of a post, is thrown as one that
/// begins with `made`.
template <class Call>
auto named(std::string_view made, std::string_view post, const Call& call) {
  try {
    return call();
  } catch (const Error& error) {
    const std::string_view text = error.what();
    if (!text.starts_with(post)) throw;
    throw Error(error.error_class(), std::string(made) + std::string(text.substr(post.size())));
  }
}

}  // namespace weft::core
