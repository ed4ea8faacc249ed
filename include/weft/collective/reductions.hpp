// Reductions: the part of a Collective that combines elements of all ranks.
#pragma once

#include <weft/collective/call.hpp>
#include <weft/collective/operation.hpp>
#include <weft/collective/operators.hpp>
#include <weft/status.hpp>

#include <cstddef>
#include <source_location>
#include <span>

namespace weft {

/// The reductions of Collective, which inherits them.
template <class Derived>
class CollectiveReductions {
 public:
  /// Reduces from[i] of all ranks by `op` into to[i] on rank `root`. On other ranks `to` is ignored and may
  /// be empty. With an AnyReduction, whose element type is known at run time only, the buffers are contiguous
  /// ranges of any type, of the same length in bytes.
  template <class From, class To, class Op>
  Outcome reduce(const From& from, To&& to, const Op& op, int root,
                 const std::source_location& where = std::source_location::current()) {
    return self().run(detail::reduce_call(detail::CollectiveKind::reduce, detail::elements_of(from),
                                          detail::elements_of(to), op, root),
                      where);
  }
  template <class From, class To, class Op>
  [[nodiscard]] CollectiveOperation make_reduce(From&& from, To&& to, const Op& op, int root) {
    detail::check_lasts<From>();
    detail::check_lasts<To>();
    return self().make(detail::reduce_call(detail::CollectiveKind::reduce, detail::elements_of(from),
                                           detail::elements_of(to), op, root));
  }

  /// Reduces from[i] of all ranks by `op` into to[i] on every rank; all ranks get the same bits. Arguments
  /// are those of reduce().
  template <class From, class To, class Op>
  Outcome allreduce(const From& from, To&& to, const Op& op,
                    const std::source_location& where = std::source_location::current()) {
    return self().run(detail::reduce_call(detail::CollectiveKind::allreduce, detail::elements_of(from),
                                          detail::elements_of(to), op),
                      where);
  }
  template <class From, class To, class Op>
  [[nodiscard]] CollectiveOperation make_allreduce(From&& from, To&& to, const Op& op) {
    detail::check_lasts<From>();
    detail::check_lasts<To>();
    return self().make(detail::reduce_call(detail::CollectiveKind::allreduce, detail::elements_of(from),
                                           detail::elements_of(to), op));
  }

  /// Reduces from[i] of the ranks up to this one by `op` into to[i]. Elements are combined in the order of
  /// ranks: `op` need not be commutative.
  template <class From, class To, class Op>
  Outcome inclusive_scan(const From& from, To&& to, const Op& op,
                         const std::source_location& where = std::source_location::current()) {
    return self().run(detail::reduce_call(detail::CollectiveKind::inclusive_scan, detail::elements_of(from),
                                          detail::elements_of(to), op),
                      where);
  }
  template <class From, class To, class Op>
  [[nodiscard]] CollectiveOperation make_inclusive_scan(From&& from, To&& to, const Op& op) {
    detail::check_lasts<From>();
    detail::check_lasts<To>();
    return self().make(detail::reduce_call(detail::CollectiveKind::inclusive_scan, detail::elements_of(from),
                                           detail::elements_of(to), op));
  }
  /// inclusive_scan() of the ranks before this one. On rank 0 `to` stays as it is.
  template <class From, class To, class Op>
  Outcome exclusive_scan(const From& from, To&& to, const Op& op,
                         const std::source_location& where = std::source_location::current()) {
    return self().run(detail::reduce_call(detail::CollectiveKind::exclusive_scan, detail::elements_of(from),
                                          detail::elements_of(to), op),
                      where);
  }
  template <class From, class To, class Op>
  [[nodiscard]] CollectiveOperation make_exclusive_scan(From&& from, To&& to, const Op& op) {
    detail::check_lasts<From>();
    detail::check_lasts<To>();
    return self().make(detail::reduce_call(detail::CollectiveKind::exclusive_scan, detail::elements_of(from),
                                           detail::elements_of(to), op));
  }

 protected:
  ~CollectiveReductions() = default;

 private:
  [[nodiscard]] Derived& self() noexcept { return static_cast<Derived&>(*this); }
};

}  // namespace weft
