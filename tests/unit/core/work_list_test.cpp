// Lists of records that are continued, while others are added and looked at.
#include "core/protocol/work_list.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace weft::core {
namespace {

struct Record {
  Record* next = nullptr;
};

TEST(WorkList, keeps_what_is_taken_in_by_the_step_that_finishes_another_one) {
  WorkList<Record> list;
  Record first;
  Record second;
  std::atomic<std::uint32_t> count{1};
  list.add(first);
  list.run(count, [&](Record&) {
    ++count;
    list.add(second);
    list.for_each([](Record&) {});
    return Step::finished;
  });
  std::vector<const Record*> left;
  list.for_each([&](Record& record) { left.push_back(&record); });
  EXPECT_EQ(left, (std::vector<const Record*>{&second}));
  EXPECT_EQ(count.load(), 1U);
}

}  // namespace
}  // namespace weft::core
