#include "collective/kept_runs.hpp"

#include "collective/run.hpp"

#include <cstring>

namespace weft::collective {

namespace {

bool are_same(const detail::CollectiveCall& a, const detail::CollectiveCall& b) noexcept {
  return a.kind == b.kind && a.root == b.root && a.from == b.from && a.to == b.to && a.count == b.count &&
         a.reduction.element == b.reduction.element && a.reduction.apply == b.reduction.apply &&
         a.reduction.is_ordered == b.reduction.is_ordered &&
         a.reduction.operator_size == b.reduction.operator_size &&
         std::memcmp(a.reduction.operator_bytes, b.reduction.operator_bytes, a.reduction.operator_size) == 0;
}

}  // namespace

KeptRuns::KeptRuns(CollectiveContext& context) noexcept : context_(context) {}

KeptRuns::~KeptRuns() = default;

CollectiveRun& KeptRuns::of(const detail::CollectiveCall& call) {
  if (last_ == nullptr || !are_same(last_->call(), call))
    last_ = std::make_unique<CollectiveRun>(context_, call);
  return *last_;
}

void KeptRuns::forget() noexcept { last_.reset(); }

void KeptRuns::keep_memory(std::vector<std::unique_ptr<std::byte[]>>&& memory) {
  const std::lock_guard lock(mutex_);
  for (auto& block : memory) abandoned_.push_back(std::move(block));
}

}  // namespace weft::collective
