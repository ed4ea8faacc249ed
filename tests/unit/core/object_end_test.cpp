// Which keepers of operations are asked when a completion object dies.
#include "core/completion/object_end.hpp"

#include <weft/completion/counter.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <vector>

namespace weft::core {
namespace {

/// Names every object until it has been asked to forget it.
class Keeper final : public OperationKeeper {
 public:
  Keeper() { Keepers::all().add(*this); }
  ~Keeper() { leave(); }
  void leave() {
    if (is_listed_) Keepers::all().remove(*this);
    is_listed_ = false;
  }
  [[nodiscard]] bool may_name(const Completion&) noexcept override { return true; }
  void forget_object(Completion&) noexcept override {
    ++asked;
    if (then) then();
  }
  int asked = 0;
  std::function<void()> then;

 private:
  bool is_listed_ = true;
};

TEST(ObjectEnd, asks_each_keeper_once) {
  std::vector<std::unique_ptr<Keeper>> keepers(20);
  for (auto& keeper : keepers) keeper = std::make_unique<Keeper>();
  { const Counter dies; }
  for (const auto& keeper : keepers) EXPECT_EQ(keeper->asked, 1);
}

TEST(ObjectEnd, leaves_no_keeper_out_when_one_that_was_asked_goes) {
  std::vector<std::unique_ptr<Keeper>> keepers(20);
  for (auto& keeper : keepers) keeper = std::make_unique<Keeper>();
  std::ranges::sort(keepers, std::less<>{});
  // While the tenth is asked, those that were asked before it go: places in a list would move.
  keepers[10]->then = [&] {
    for (std::size_t index = 0; index < 10; ++index) keepers[index]->leave();
  };
  { const Counter dies; }
  for (const auto& keeper : keepers) EXPECT_EQ(keeper->asked, 1);
}

}  // namespace
}  // namespace weft::core
