// Forced schedules of the queue from one thread to another, as in schedules_test.cpp.
#include "support/schedules.hpp"

#include "concurrent/spsc_queue.hpp"

#include <gtest/gtest.h>

#include <memory>

namespace weft {
namespace {

namespace model = test::model;
using model::expect_sound;
using model::Schedule;

TEST(SpscQueue, passes_each_value_once_and_in_order_under_all_schedules) {
  WEFT_NEEDS_FIBERS();
  expect_sound([](Schedule& schedule) {
    // The values lie in cells, whose unordered accesses the model notices.
    struct Value {
      std::shared_ptr<model::Cell<int>> cell;
    };
    concurrent::SpscQueue<Value, model::Atomic> queue;
    constexpr int kValues = 6;
    int taken = 0;
    schedule.run({[&] {
                    for (int value = 0; value < kValues; ++value) {
                      auto cell = std::make_shared<model::Cell<int>>(-1);
                      *cell = value;
                      queue.push({cell});
                    }
                  },
                  [&] {
                    for (int tries = 0; tries < 40 && taken < kValues; ++tries) {
                      Value* const front = queue.front();
                      if (front == nullptr) continue;
                      if (*front->cell != taken) schedule.report("a value is lost, or comes twice");
                      ++taken;
                      front->cell.reset();
                      queue.pop();
                    }
                  }});
    for (Value* front = queue.front(); front != nullptr; queue.pop(), front = queue.front())
      if (*front->cell != taken++) schedule.report("a value is lost at the end");
    if (taken != kValues) schedule.report("values are left");
  });
}

}  // namespace
}  // namespace weft
