// Which owners of operations are asked when a completion object dies.
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
class Owner final : public OperationOwner {
 public:
  Owner() { OperationOwners::all().add(*this); }
  ~Owner() { leave(); }
  void leave() {
    if (is_listed_) OperationOwners::all().remove(*this);
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

TEST(ObjectEnd, asks_each_owner_once) {
  std::vector<std::unique_ptr<Owner>> owners(20);
  for (auto& owner : owners) owner = std::make_unique<Owner>();
  { const Counter dies; }
  for (const auto& owner : owners) EXPECT_EQ(owner->asked, 1);
}

TEST(ObjectEnd, leaves_no_owner_out_when_one_that_was_asked_goes) {
  std::vector<std::unique_ptr<Owner>> owners(20);
  for (auto& owner : owners) owner = std::make_unique<Owner>();
  std::ranges::sort(owners, std::less<>{});
  // While the tenth is asked, those that were asked before it go: places in a list would move.
  owners[10]->then = [&] {
    for (std::size_t index = 0; index < 10; ++index) owners[index]->leave();
  };
  { const Counter dies; }
  for (const auto& owner : owners) EXPECT_EQ(owner->asked, 1);
}

}  // namespace
}  // namespace weft::core
