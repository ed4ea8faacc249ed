// Nodes whose operations end when a test says so.
#pragma once

#include <weft/completion/graph.hpp>
#include <weft/detail/message_access.hpp>
#include <weft/error.hpp>

#include <gtest/gtest.h>

#include <string>

namespace weft::test {

inline void signal(Completion& completion, Outcome outcome = Outcome::ok) {
  Message message;
  detail::MessageAccess::set_view(message, Operation::receive, 0, 0, nullptr, 0, nullptr, 0);
  detail::MessageAccess::set_outcome(message, outcome);
  completion.signal(message);
}

/// A node whose operation ends when the test says so.
struct Held {
  Graph::Node add_to(Graph& graph) {
    return graph.add([this](Completion& node) {
      completion = &node;
      ++begun;
      return Status::posted();
    });
  }
  void end(Outcome outcome = Outcome::ok) { signal(*completion, outcome); }
  Completion* completion = nullptr;
  int begun = 0;
};

template <class Call>
void expect_error(const Call& call, const std::string& text) {
  try {
    call();
    ADD_FAILURE() << "nothing was thrown; expected: " << text;
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find(text), std::string::npos) << error.what();
  }
}

}  // namespace weft::test
