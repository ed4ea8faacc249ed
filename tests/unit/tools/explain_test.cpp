#include "run/explain/explain.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace weft::tools::run {
namespace {

/// A report with one wait at a.cpp:<line> and one operation that signals it.
std::string waiting(const std::string& what, const std::string& operation, int line = 3) {
  return R"({"waits":[{"what":")" + what + R"(","file":"a.cpp","line":)" + std::to_string(line) +
         R"(,"peer":-1,"exposed":-1,"seconds":2.04,"completion":"77","is_for_all":false}],"operations":[)" +
         operation + "]}";
}

std::string operation(const std::string& kind, int peer, int tag, const std::string& state,
                      const std::string& completion = "77") {
  return R"({"kind":")" + kind + R"(","state":")" + state + R"(","peer":)" + std::to_string(peer) +
         R"(,"has_tag":true,"tag":)" + std::to_string(tag) + R"(,"size":8,"completion":")" + completion +
         "\"}";
}

const std::string kComputes = R"({"waits":[],"operations":[]})";

TEST(Explain, NamesRanksTagsAndPlacesOfACircle) {
  EXPECT_EQ(
      explain({{waiting("a counter", operation("receive", 1, 7, "posted")), ""},
               {waiting("a counter", operation("receive", 0, 9, "posted"), 4), ""}}),
      "Rank 0 waits at a.cpp:3 (2.0 s) for a message from rank 1 with tag 7, which rank 1 has not sent. "
      "Rank 1 waits at a.cpp:4 (2.0 s) for a message from rank 0 with tag 9, which rank 0 has not sent. "
      "So ranks 0 and 1 wait for each other (0 -> 1 -> 0): none of them goes on before another one does.");
}

TEST(Explain, TellsASendThatIsStillUnderWay) {
  const std::string text = explain(
      {{waiting("a counter", operation("receive", 1, 7, "posted")), ""},
       {R"({"waits":[],"operations":[)" + operation("send", 0, 7, "refused: no credit", "0") + "]}", ""}});
  EXPECT_NE(text.find("from rank 1 with tag 7, which rank 1 has posted (8 bytes: refused: no credit)."),
            std::string::npos)
      << text;
}

TEST(Explain, ShowsTagsOfContextsAsTheRankNamesThem) {
  const std::string text = explain(
      {{waiting("a counter",
                R"({"kind":"receive","state":"posted","peer":1,"has_tag":true,"tag":9223372088394416135,)"
                R"("tag_text":"tag 7 of context key 12","size":8,"completion":"77"})"),
        ""},
       {kComputes, ""}});
  EXPECT_NE(text.find("from rank 1 with tag 7 of context key 12, which rank 1 has not sent"),
            std::string::npos)
      << text;
}

TEST(Explain, FindsACircleBehindRanksThatOnlyLeadToIt) {
  const auto receive = [](int from) {
    return RankAnswer{waiting("a counter", operation("receive", from, 1, "posted")), ""};
  };
  const std::string text = explain({receive(1), receive(3), receive(1), receive(2)});
  EXPECT_NE(text.find("So ranks 1, 2 and 3 wait for each other in a circle (1 -> 3 -> 2 -> 1)"),
            std::string::npos)
      << text;
  EXPECT_EQ(text.find("Rank 1 waits"), 0U) << "the circle comes first: " << text;
}

TEST(Explain, SaysThatARankLacksMemoryAndBlamesNobodyElse) {
  const std::string text = explain(
      {{waiting("a counter", operation("active message", 1, 7, "announced")), ""},
       {waiting("a queue", operation("arrival", 0, 7, "no memory for it: its allocator has no room"), 4),
        ""}});
  EXPECT_NE(
      text.find("Rank 1 waits at a.cpp:4 (2.0 s) for memory for a large message of 8 bytes from rank 0 with "
                "tag 7 (no memory for it"),
      std::string::npos)
      << text;
  EXPECT_EQ(text.find("wait for each other"), std::string::npos) << text;
}

TEST(Explain, TellsAWaitForItself) {
  const std::string text = explain({{waiting("a counter", operation("receive", 0, 1, "posted")), ""}});
  EXPECT_NE(text.find("So rank 0 waits for itself"), std::string::npos) << text;
}

TEST(Explain, NamesTheRankThatIsWaitedForAndDoesSomethingElse) {
  const std::string text =
      explain({{waiting("a counter", operation("receive", 1, 1, "posted")), ""}, {kComputes, ""}});
  EXPECT_NE(text.find("There is no circle: rank 1 is waited for"), std::string::npos) << text;
}

TEST(Explain, NamesRanksThatHaveEndedOrDoNotAnswer) {
  const std::string text = explain({{waiting("a counter", operation("receive", 1, 1, "posted")), ""},
                                    {std::nullopt, "exited with code 3"},
                                    {std::nullopt, ""}});
  EXPECT_NE(text.find("but rank 1 has ended (exited with code 3)"), std::string::npos) << text;
  EXPECT_NE(text.find("No answer came from rank 2"), std::string::npos) << text;
}

TEST(Explain, TakesAllPendingOperationsWhereNoneNamesTheWait) {
  const std::string text =
      explain({{waiting("a graph", operation("receive", 1, 1, "posted", "5")), ""}, {kComputes, ""}});
  EXPECT_NE(text.find("for a graph; pending there: a message from rank 1 with tag 1"), std::string::npos)
      << text;
}

TEST(Explain, TellsWhatRanksThatPollLeaveUndone) {
  const std::string polls =
      R"({"waits":[],"operations":[)"
      R"({"kind":"receive","state":"posted","peer":1,"has_tag":true,"tag":7,"size":8,"completion":"5","seconds":1.5},)"
      R"({"kind":"receive","state":"posted","peer":1,"has_tag":true,"tag":8,"size":8,"completion":"5","seconds":0},)" +
      operation("held message", 1, 9, "no receive fits it", "0") +
      R"(],"queues":[{"exposed":3,"messages":12,"seconds":1.5},{"exposed":4,"messages":1,"seconds":0}],)" +
      R"("refusals":[{"reason":"no_slot","count":1}]})";
  EXPECT_EQ(
      explain({{polls, ""}, {kComputes, ""}}),
      "No rank waits in a call of weft: they compute, poll, or wait for something else. Rank 0 has posted "
      "for "
      "at least 1.5 s a receive of a message from rank 1 with tag 7, which rank 1 has not sent; it holds a "
      "message from rank 1 with tag 9 (8 bytes) that no receive fits; it has 12 messages in the object "
      "exposed "
      "as id 3, of which nobody has taken one for at least 1.5 s; it was refused 1 post since the last look "
      "(no_slot).");
}

TEST(Explain, TellsOfARankThatWaitsWhatItLeavesUndoneBesides) {
  std::string report = waiting("a counter", operation("receive", 1, 7, "posted"));
  report.back() = ',';
  report += R"("queues":[{"exposed":3,"messages":1,"seconds":2}],"refusals":[]})";
  const std::string text = explain({{report, ""}, {kComputes, ""}});
  EXPECT_NE(text.find("Rank 0 waits at a.cpp:3"), std::string::npos) << text;
  EXPECT_NE(text.find("Rank 0 has 1 message in the object exposed as id 3"), std::string::npos) << text;
  EXPECT_EQ(text.find("has posted for at least"), std::string::npos)
      << "its wait tells of the receive: " << text;
}

std::string posting(int id, const std::string& refusal) {
  return R"({"waits":[{"what":"an active message to be sent","file":"a.cpp","line":3,"peer":1,"exposed":-1,)"
         R"("seconds":2.04,"completion":"0","is_for_all":false,"is_in_handler":false,"remote_id":)" +
         std::to_string(id) + R"(,"refusal":")" + refusal + R"("}],"operations":[]})";
}

TEST(Explain, NamesTheIdThatAPeerHasNotExposed) {
  const auto peer = [](const std::string& exposed, bool has_more = false) {
    return RankAnswer{R"({"waits":[],"operations":[],"exposed":[)" + exposed + R"(],"has_more_exposed":)" +
                          (has_more ? "true" : "false") + "}",
                      ""};
  };
  const std::string begin =
      "Rank 0 waits at a.cpp:3 (2.0 s) for an active message to be sent to rank 1: rank 1 ";
  const auto text = [&](const RankAnswer& answer) {
    return explain({{posting(5, "not_ready"), ""}, answer});
  };
  EXPECT_EQ(text(peer("")).find(begin + "has not exposed id 5 (nor any other)."), 0U) << text(peer(""));
  EXPECT_EQ(text(peer("4,7")).find(begin + "has not exposed id 5 (it has exposed 4, 7)."), 0U);
  EXPECT_EQ(text(peer("1,2,3,4")).find(begin + "has not exposed id 5 (it has exposed 1, 2, 3, ...)."), 0U);
  EXPECT_EQ(text(peer("5")).find(begin + "has exposed id 5, but has not opened the device of the handle."),
            0U);
  EXPECT_EQ(text(peer("1,2", true)).find(begin + "has not exposed id 5, or has not opened the device"), 0U);
  EXPECT_EQ(text({std::nullopt, "exited with code 0"}).find(begin + "has ended (exited with code 0)."), 0U);
  EXPECT_EQ(text({std::nullopt, ""}).find(begin + "has no runtime (yet), or does not answer."), 0U);
  // Refused for another reason, the id says nothing.
  EXPECT_EQ(explain({{posting(5, "no_slot"), ""}, peer("")}).find("id 5"), std::string::npos);
}

TEST(Explain, NamesTheIdOfRefusedPosts) {
  const std::string polls =
      R"({"waits":[],"operations":[],"refusals":[{"reason":"not_ready","count":12,"peer":1,"remote_id":5}]})";
  const std::string text = explain({{polls, ""}, {kComputes, ""}});
  EXPECT_NE(
      text.find("was refused 12 posts since the last look (not_ready: rank 1 has not exposed id 5 (nor any "
                "other))"),
      std::string::npos)
      << text;
}

TEST(Explain, TellsThatNothingCanEndAWaitInsideAHandler) {
  std::string report = waiting("a counter", operation("receive", 1, 7, "posted"));
  report.replace(report.find("false"), 5, R"(false,"is_in_handler":true)");
  EXPECT_EQ(
      explain({{report, ""}, {kComputes, ""}}),
      "Rank 0 waits inside a handler at a.cpp:3 (2.0 s) for a counter, which nothing can end: its device "
      "delivers nothing before the handler returns; handlers post, and wait outside. So rank 0 waits for "
      "itself: only it could end this wait.");
}

TEST(Explain, TrustsNoReport) {
  for (const char* report :
       {"", "{", "[]", "{}", R"({"waits":3,"operations":[]})", R"({"waits":[{"what":1}],"operations":[]})",
        R"({"waits":[],"operations":[{"kind":"receive","peer":99}]})",
        R"({"waits":[],"operations":[],"queues":[{}]})", R"({"waits":[],"operations":[],"refusals":3})",
        R"({"waits":[],"operations":[],"exposed":["x"]})"})
    EXPECT_NE(explain({{std::string(report), ""}}).find("No answer came from rank 0"), std::string::npos)
        << report;
  // A peer that is no rank of the job.
  const std::string text = explain({{waiting("a counter", operation("receive", 99, 1, "posted")), ""}});
  EXPECT_NE(text.find("from rank 99"), std::string::npos);
}

/// A report with one wait, of which a layer knows what it is for.
std::string waiting_in_layer(const std::string& more, const std::string& operations,
                             const std::string& sequences) {
  return R"({"waits":[{"what":"number 2 of its collectives","file":"a.cpp","line":3,"peer":-1,"exposed":-1,"seconds":2,)"
         R"("completion":"77","is_for_all":false,)" +
         more + R"(}],"operations":[)" + operations + R"(],"sequences":[)" + sequences + "]}";
}

TEST(Explain, NamesOnlyTheOperationsThatAWaitIsFor) {
  const std::string two = operation("receive", 1, 7, "posted") + "," + operation("receive", 1, 9, "posted");
  const std::string text = explain({{waiting_in_layer(R"("operations":[1])", two, ""), ""}, {kComputes, ""}});
  EXPECT_NE(text.find("for a message from rank 1 with tag 9, which rank 1 has not sent."), std::string::npos)
      << text;
  EXPECT_EQ(text.find("tag 7"), std::string::npos) << text;
  const std::string outside =
      explain({{waiting_in_layer(R"("operations":[5])", two, ""), ""}, {kComputes, ""}});
  EXPECT_NE(outside.find("for number 2 of its collectives"), std::string::npos) << outside;
}

TEST(Explain, NamesARankThatTakesAnotherStep) {
  const auto rank = [](const std::string& step, int steps) {
    return waiting_in_layer(
        R"("is_whole":true,"operations":[],"sequence":1,"step":2,"step_name":")" + step + "\"", "",
        R"({"sequence":1,"steps":)" + std::to_string(steps) + R"(,"name":"world","last":")" + step + "\"}");
  };
  const std::string other = explain({{rank("MPI_Bcast", 2), ""}, {rank("MPI_Reduce", 2), ""}});
  EXPECT_NE(other.find("but rank 1 has called MPI_Reduce as number 2 there: all ranks must call the same"),
            std::string::npos)
      << other;
  const std::string late =
      explain({{rank("MPI_Bcast", 2), ""},
               {R"({"waits":[],"operations":[],"sequences":[{"sequence":1,"steps":1,"name":"world",)"
                R"("last":"MPI_Barrier"}]})",
                ""}});
  EXPECT_NE(late.find("; rank 1 has not called it yet."), std::string::npos) << late;
  EXPECT_NE(late.find("There is no circle: rank 1 is waited for"), std::string::npos) << late;
}

TEST(Explain, StaysReadableWithManyRanks) {
  std::vector<RankAnswer> answers(1000, {waiting("a counter", operation("receive", 1, 1, "posted")), ""});
  answers[1] = {kComputes, ""};
  const std::string text = explain(answers);
  EXPECT_LT(text.size(), 2000U);
  EXPECT_NE(text.find("991 more ranks wait."), std::string::npos) << text;
}

}  // namespace
}  // namespace weft::tools::run
