// The second exchange over variables of torchrun: rank 0 and two others, of which rank 2 reports.
#include "bootstrap/launchers/environment/reports.hpp"

#include "support/errors.hpp"

#include <gtest/gtest.h>

#include <sys/socket.h>

#include <string>
#include <thread>
#include <vector>

namespace weft::bootstrap::contact {
namespace {

class Reports : public testing::Test {
 protected:
  Reports() {
    sockets::prepare_greetings();
    at_root_.emplace_back();
    others_.emplace_back();
    for (int rank = 1; rank < 3; ++rank) {
      int ends[2];
      if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) std::abort();
      const sockets::Key key{static_cast<std::byte>(rank)};
      at_root_.push_back({base::Descriptor(ends[0]), key});
      others_.push_back({base::Descriptor(ends[1]), key});
    }
  }
  std::vector<std::string> gather(const std::string& own, double seconds = 30) {
    return gather_reports(at_root_, from_, own, base::Deadline(seconds));
  }
  std::vector<std::string> bring(int rank, const std::string& own) {
    return bring_report(others_[static_cast<std::size_t>(rank)], rank, from_, own, base::Deadline(30));
  }

  const std::vector<int> from_{0, 2};
  Connections at_root_;
  Connections others_;
};

TEST_F(Reports, reach_all_ranks) {
  const std::vector<std::string> expected{"", "the port is closed"};
  std::vector<std::string> of_one;
  std::vector<std::string> of_two;
  std::thread one([&] { of_one = bring(1, "not a reporter"); });
  std::thread two([&] { of_two = bring(2, "the port is closed"); });
  EXPECT_EQ(gather(""), expected);
  one.join();
  two.join();
  EXPECT_EQ(of_one, expected);
  EXPECT_EQ(of_two, expected);
}

TEST_F(Reports, tell_of_a_reporter_that_ends) {
  others_[2].socket.close();
  const std::vector<std::string> expected{"", "rank 2 has ended before all hosts had joined"};
  EXPECT_EQ(gather(""), expected);
  EXPECT_EQ(bring(1, ""), expected);
}

TEST_F(Reports, tell_of_another_rank_that_ends) {
  others_[1].socket.close();
  std::vector<std::string> of_two;
  std::thread two([&] { of_two = bring(2, ""); });
  const std::vector<std::string> told = gather("own fault");
  two.join();
  EXPECT_EQ(told, of_two);
  EXPECT_EQ(told[1], "");
  EXPECT_EQ(told[0].find("own fault"), 0U);
}

TEST_F(Reports, tell_of_a_reporter_that_says_nothing_in_time) {
  const std::vector<std::string> expected{"", "rank 2 has not reported in time whether its host could join"};
  EXPECT_EQ(gather("", 0), expected);
  EXPECT_EQ(bring(1, ""), expected);
}

TEST_F(Reports, fail_when_rank_0_ends_and_keep_the_own_reason) {
  at_root_[2].socket.close();
  const std::string error = test::error_of([&] { bring(2, "the port is closed"); });
  EXPECT_EQ(error, "rank 0 has ended before all hosts had joined; the port is closed");
}

TEST_F(Reports, are_cut_to_what_a_report_holds) {
  std::vector<std::string> of_one;
  std::thread one([&] { of_one = bring(1, ""); });
  std::thread two([&] { static_cast<void>(bring(2, std::string(5000, 'x'))); });
  const std::vector<std::string> told = gather("");
  one.join();
  two.join();
  EXPECT_EQ(told[1], std::string(640, 'x'));
  EXPECT_EQ(of_one, told);
}

TEST_F(Reports, that_were_sealed_by_another_are_not_believed) {
  others_[2].key = others_[1].key;
  std::thread two([&] {
    const std::string error = test::error_of([&] { bring(2, "the port is closed"); });
    EXPECT_EQ(error, "what rank 0 has reported of the hosts was changed on its way");
  });
  EXPECT_EQ(gather("")[1], "what rank 2 has reported was changed on its way");
  two.join();
}

TEST_F(Reports, of_a_stranger_are_no_reports) {
  const std::string noise(2000, 'n');
  ASSERT_EQ(::send(others_[2].socket.get(), noise.data(), noise.size(), 0), 2000);
  EXPECT_EQ(gather("")[1], "what rank 2 has reported was changed on its way");
}

}  // namespace
}  // namespace weft::bootstrap::contact
