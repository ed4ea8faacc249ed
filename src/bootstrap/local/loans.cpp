#include "bootstrap/local/loans.hpp"

namespace weft::bootstrap::local {

bool Loans::lend(const Lender& lender, std::string key, Descriptor descriptor) {
  const auto known = lent_.find(NameView(lender, key));
  if (known == lent_.end() && lent_.size() >= most_) return false;
  auto& loan = known != lent_.end() ? known->second : lent_[Name(lender, std::move(key))];
  loan = std::make_shared<const Descriptor>(std::move(descriptor));
  return true;
}

void Loans::take_back(const Lender& lender, std::string_view key) {
  if (const auto known = lent_.find(NameView(lender, key)); known != lent_.end()) lent_.erase(known);
}

void Loans::take_back_all(const Lender& lender) {
  auto next = lent_.lower_bound(NameView(lender, {}));
  while (next != lent_.end() && next->first.first == lender) next = lent_.erase(next);
}

std::shared_ptr<const Descriptor> Loans::find(const Lender& lender, std::string_view key) const {
  const auto known = lent_.find(NameView(lender, key));
  return known != lent_.end() ? known->second : nullptr;
}

}  // namespace weft::bootstrap::local
