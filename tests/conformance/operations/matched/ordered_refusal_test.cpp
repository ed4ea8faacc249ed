// What ordered engines, and others that are given wildcards, refuse.
#include "support/errors.hpp"
#include "support/ranks.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <span>
#include <string>
#include <utility>

namespace weft {
namespace {

using test::error_of;
using test::Ranks;
using test::Recorder;

constexpr std::uint16_t kRefusingEngine = 256;

TEST(OrderedErrors, name_what_would_be_right) {
  Ranks<> ranks(2);
  Endpoint& endpoint = ranks.endpoint(0);
  std::uint64_t value = 0;
  const auto buffer = std::as_writable_bytes(std::span(&value, 1));
  Recorder recorder;
  ProbedMessage found;
  EXPECT_EQ(error_of([&] {
              static_cast<void>(endpoint.post_receive(any_source, 1, buffer, {.completion = &recorder}));
            }),
            "post_receive: source -1 is not a rank of this job (0 to 1); any_source needs an ordered "
            "matching engine");
  for (const auto& [operation, message] : {
           std::pair("post_receive", error_of([&] {
                       static_cast<void>(
                           endpoint.post_receive(0, any_tag, buffer, {.completion = &recorder, .engine = 9}));
                     })),
           std::pair("receive", error_of([&] {
                       static_cast<void>(endpoint.receive(0, any_tag, buffer, {.engine = 9}));
                     })),
           std::pair("probe",
                     error_of([&] { static_cast<void>(endpoint.probe(0, any_tag, found, {.engine = 9})); })),
           std::pair("matched_probe",
                     error_of([&] { static_cast<void>(endpoint.matched_probe(0, any_tag, {.engine = 9})); })),
       })
    EXPECT_EQ(message,
              std::string(operation) +
                  ": any_tag on matching engine 9, which is unordered; wildcards need an ordered one "
                  "(MatchOrder::ordered, ids 256 to 511)");
  EXPECT_EQ(
      error_of([&] { static_cast<void>(endpoint.post_send(1, any_tag, {}, {.engine = kRefusingEngine})); }),
      "post_send: tag 18446744073709551615 is any_tag, which no message to an ordered matching engine "
      "can have");
  EXPECT_NE(error_of([&] {
              static_cast<void>(
                  endpoint.post_send(1, 1, {}, {.policy = MatchingPolicy::any, .engine = kRefusingEngine}));
            }).find("matches by MatchingPolicy::rank_and_tag only"),
            std::string::npos);
  EXPECT_NE(error_of([&] {
              static_cast<void>(
                  endpoint.post_receive(2, 1, buffer, {.completion = &recorder, .engine = kRefusingEngine}));
            }).find("source 2 is not a rank"),
            std::string::npos);
  EXPECT_NE(error_of([&] {
              static_cast<void>(endpoint.post_receive(any_source, 1, buffer, {.engine = kRefusingEngine}));
            }).find("a completion object is needed"),
            std::string::npos);
  EXPECT_NE(error_of([&] {
              static_cast<void>(endpoint.post_send(1, 1, {}, {.engine = 512}));
            }).find("out of range: 0 to 511"),
            std::string::npos);
}

}  // namespace
}  // namespace weft
