// Exchanges of blocks: the part of a Collective whose buffers have a part for each rank.
#pragma once

#include <weft/collective/call.hpp>
#include <weft/collective/operation.hpp>
#include <weft/collective/operators.hpp>
#include <weft/status.hpp>

#include <cstddef>
#include <source_location>
#include <span>

namespace weft {

/// The exchanges of Collective, which inherits them.
template <class Derived>
class CollectiveBlocks {
 public:
  // Buffers that consist of a block for each rank, one after another in the order of ranks. Without counts
  // all blocks have the same number of elements. With counts (of elements, one for each rank) they differ;
  // then all ranks use that form of the call, and counts which concern other ranks only are ignored and may
  // be empty.

  /// Rank `root` gets `from` of every rank in `to`, which is ignored on other ranks. Its own block may lie in
  /// `to` already.
  template <class From, class To>
  Outcome gather(const From& from, To&& to, int root,
                 const std::source_location& where = std::source_location::current()) {
    return self().run(detail::call_of(detail::CollectiveKind::gather, detail::elements_of(from),
                                      detail::elements_of(to), root),
                      where);
  }
  template <class From, class To>
  [[nodiscard]] CollectiveOperation make_gather(From&& from, To&& to, int root) {
    detail::check_lasts<From>();
    detail::check_lasts<To>();
    return self().make(detail::call_of(detail::CollectiveKind::gather, detail::elements_of(from),
                                       detail::elements_of(to), root));
  }
  template <class From, class To>
  Outcome gather(const From& from, To&& to, std::span<const std::size_t> counts, int root,
                 const std::source_location& where = std::source_location::current()) {
    return self().run(with_counts(detail::call_of(detail::CollectiveKind::gather, detail::elements_of(from),
                                                  detail::elements_of(to), root),
                                  {}, counts),
                      where);
  }
  template <class From, class To>
  [[nodiscard]] CollectiveOperation make_gather(From&& from, To&& to, std::span<const std::size_t> counts,
                                                int root) {
    detail::check_lasts<From>();
    detail::check_lasts<To>();
    return self().make(with_counts(detail::call_of(detail::CollectiveKind::gather, detail::elements_of(from),
                                                   detail::elements_of(to), root),
                                   {}, counts));
  }

  /// Every rank gets in `to` its block of `from` of rank `root`; on other ranks `from` is ignored. The root's
  /// `to` may be its block of `from`.
  template <class From, class To>
  Outcome scatter(const From& from, To&& to, int root,
                  const std::source_location& where = std::source_location::current()) {
    return self().run(detail::call_of(detail::CollectiveKind::scatter, detail::elements_of(from),
                                      detail::elements_of(to), root),
                      where);
  }
  template <class From, class To>
  [[nodiscard]] CollectiveOperation make_scatter(From&& from, To&& to, int root) {
    detail::check_lasts<From>();
    detail::check_lasts<To>();
    return self().make(detail::call_of(detail::CollectiveKind::scatter, detail::elements_of(from),
                                       detail::elements_of(to), root));
  }
  template <class From, class To>
  Outcome scatter(const From& from, std::span<const std::size_t> counts, To&& to, int root,
                  const std::source_location& where = std::source_location::current()) {
    return self().run(with_counts(detail::call_of(detail::CollectiveKind::scatter, detail::elements_of(from),
                                                  detail::elements_of(to), root),
                                  counts, {}),
                      where);
  }
  template <class From, class To>
  [[nodiscard]] CollectiveOperation make_scatter(From&& from, std::span<const std::size_t> counts, To&& to,
                                                 int root) {
    detail::check_lasts<From>();
    detail::check_lasts<To>();
    return self().make(with_counts(detail::call_of(detail::CollectiveKind::scatter, detail::elements_of(from),
                                                   detail::elements_of(to), root),
                                   counts, {}));
  }

  /// Every rank gets `from` of every rank in `to`. The own block may lie in `to` already.
  template <class From, class To>
  Outcome allgather(const From& from, To&& to,
                    const std::source_location& where = std::source_location::current()) {
    return self().run(detail::call_of(detail::CollectiveKind::allgather, detail::elements_of(from),
                                      detail::elements_of(to)),
                      where);
  }
  template <class From, class To>
  [[nodiscard]] CollectiveOperation make_allgather(From&& from, To&& to) {
    detail::check_lasts<From>();
    detail::check_lasts<To>();
    return self().make(detail::call_of(detail::CollectiveKind::allgather, detail::elements_of(from),
                                       detail::elements_of(to)));
  }
  template <class From, class To>
  Outcome allgather(const From& from, To&& to, std::span<const std::size_t> counts,
                    const std::source_location& where = std::source_location::current()) {
    return self().run(with_counts(detail::call_of(detail::CollectiveKind::allgather,
                                                  detail::elements_of(from), detail::elements_of(to)),
                                  {}, counts),
                      where);
  }
  template <class From, class To>
  [[nodiscard]] CollectiveOperation make_allgather(From&& from, To&& to,
                                                   std::span<const std::size_t> counts) {
    detail::check_lasts<From>();
    detail::check_lasts<To>();
    return self().make(with_counts(detail::call_of(detail::CollectiveKind::allgather,
                                                   detail::elements_of(from), detail::elements_of(to)),
                                   {}, counts));
  }

  /// Every rank sends its block i of `from` to rank i, where it becomes the block of this rank in `to`. Both
  /// may be the same buffer: with counts, where these are the same for both.
  template <class From, class To>
  Outcome alltoall(const From& from, To&& to,
                   const std::source_location& where = std::source_location::current()) {
    return self().run(
        detail::call_of(detail::CollectiveKind::alltoall, detail::elements_of(from), detail::elements_of(to)),
        where);
  }
  template <class From, class To>
  [[nodiscard]] CollectiveOperation make_alltoall(From&& from, To&& to) {
    detail::check_lasts<From>();
    detail::check_lasts<To>();
    return self().make(detail::call_of(detail::CollectiveKind::alltoall, detail::elements_of(from),
                                       detail::elements_of(to)));
  }
  template <class From, class To>
  Outcome alltoall(const From& from, std::span<const std::size_t> from_counts, To&& to,
                   std::span<const std::size_t> to_counts,
                   const std::source_location& where = std::source_location::current()) {
    return self().run(with_counts(detail::call_of(detail::CollectiveKind::alltoall, detail::elements_of(from),
                                                  detail::elements_of(to)),
                                  from_counts, to_counts),
                      where);
  }
  template <class From, class To>
  [[nodiscard]] CollectiveOperation make_alltoall(From&& from, std::span<const std::size_t> from_counts,
                                                  To&& to, std::span<const std::size_t> to_counts) {
    detail::check_lasts<From>();
    detail::check_lasts<To>();
    return self().make(with_counts(
        detail::call_of(detail::CollectiveKind::alltoall, detail::elements_of(from), detail::elements_of(to)),
        from_counts, to_counts));
  }

  /// Reduces `from` of all ranks by `op`; every rank gets its block of the result in `to`, which may begin
  /// where `from` does, or be the own block of it. All ranks know all counts.
  template <class From, class To, class Op>
  Outcome reduce_scatter(const From& from, To&& to, const Op& op,
                         const std::source_location& where = std::source_location::current()) {
    return self().run(detail::reduce_call(detail::CollectiveKind::reduce_scatter, detail::elements_of(from),
                                          detail::elements_of(to), op),
                      where);
  }
  template <class From, class To, class Op>
  [[nodiscard]] CollectiveOperation make_reduce_scatter(From&& from, To&& to, const Op& op) {
    detail::check_lasts<From>();
    detail::check_lasts<To>();
    return self().make(detail::reduce_call(detail::CollectiveKind::reduce_scatter, detail::elements_of(from),
                                           detail::elements_of(to), op));
  }
  template <class From, class To, class Op>
  Outcome reduce_scatter(const From& from, To&& to, std::span<const std::size_t> counts, const Op& op,
                         const std::source_location& where = std::source_location::current()) {
    return self().run(with_counts(detail::reduce_call(detail::CollectiveKind::reduce_scatter,
                                                      detail::elements_of(from), detail::elements_of(to), op),
                                  counts, {}),
                      where);
  }
  template <class From, class To, class Op>
  [[nodiscard]] CollectiveOperation make_reduce_scatter(From&& from, To&& to,
                                                        std::span<const std::size_t> counts, const Op& op) {
    detail::check_lasts<From>();
    detail::check_lasts<To>();
    return self().make(
        with_counts(detail::reduce_call(detail::CollectiveKind::reduce_scatter, detail::elements_of(from),
                                        detail::elements_of(to), op),
                    counts, {}));
  }

  /// Sends `from` to every rank of `destinations`, and gets a block from each of `sources` in `to`, in the
  /// order of the list. A rank that names another one as destination is named by it as source, as often;
  /// messages between two ranks that name each other several times keep the order of the lists.
  template <class From, class To>
  Outcome neighbor_allgather(const From& from, To&& to, std::span<const int> sources,
                             std::span<const int> destinations,
                             const std::source_location& where = std::source_location::current()) {
    return self().run(with_neighbors(detail::call_of(detail::CollectiveKind::neighbor_allgather,
                                                     detail::elements_of(from), detail::elements_of(to)),
                                     sources, destinations),
                      where);
  }
  template <class From, class To>
  [[nodiscard]] CollectiveOperation make_neighbor_allgather(From&& from, To&& to,
                                                            std::span<const int> sources,
                                                            std::span<const int> destinations) {
    detail::check_lasts<From>();
    detail::check_lasts<To>();
    return self().make(with_neighbors(detail::call_of(detail::CollectiveKind::neighbor_allgather,
                                                      detail::elements_of(from), detail::elements_of(to)),
                                      sources, destinations));
  }
  /// neighbor_allgather() with a block of `from` for each of `destinations`.
  template <class From, class To>
  Outcome neighbor_alltoall(const From& from, To&& to, std::span<const int> sources,
                            std::span<const int> destinations,
                            const std::source_location& where = std::source_location::current()) {
    return self().run(with_neighbors(detail::call_of(detail::CollectiveKind::neighbor_alltoall,
                                                     detail::elements_of(from), detail::elements_of(to)),
                                     sources, destinations),
                      where);
  }
  template <class From, class To>
  [[nodiscard]] CollectiveOperation make_neighbor_alltoall(From&& from, To&& to, std::span<const int> sources,
                                                           std::span<const int> destinations) {
    detail::check_lasts<From>();
    detail::check_lasts<To>();
    return self().make(with_neighbors(detail::call_of(detail::CollectiveKind::neighbor_alltoall,
                                                      detail::elements_of(from), detail::elements_of(to)),
                                      sources, destinations));
  }
  template <class From, class To>
  Outcome neighbor_alltoall(const From& from, std::span<const std::size_t> from_counts, To&& to,
                            std::span<const std::size_t> to_counts, std::span<const int> sources,
                            std::span<const int> destinations,
                            const std::source_location& where = std::source_location::current()) {
    return self().run(
        with_neighbors(with_counts(detail::call_of(detail::CollectiveKind::neighbor_alltoall,
                                                   detail::elements_of(from), detail::elements_of(to)),
                                   from_counts, to_counts),
                       sources, destinations),
        where);
  }
  template <class From, class To>
  [[nodiscard]] CollectiveOperation make_neighbor_alltoall(From&& from,
                                                           std::span<const std::size_t> from_counts, To&& to,
                                                           std::span<const std::size_t> to_counts,
                                                           std::span<const int> sources,
                                                           std::span<const int> destinations) {
    detail::check_lasts<From>();
    detail::check_lasts<To>();
    return self().make(
        with_neighbors(with_counts(detail::call_of(detail::CollectiveKind::neighbor_alltoall,
                                                   detail::elements_of(from), detail::elements_of(to)),
                                   from_counts, to_counts),
                       sources, destinations));
  }

 protected:
  ~CollectiveBlocks() = default;

 private:
  static detail::CollectiveCall with_counts(detail::CollectiveCall call,
                                            std::span<const std::size_t> from_counts,
                                            std::span<const std::size_t> to_counts) noexcept {
    call.from_counts = from_counts;
    call.to_counts = to_counts;
    call.blocks_differ = true;
    return call;
  }
  static detail::CollectiveCall with_neighbors(detail::CollectiveCall call, std::span<const int> sources,
                                               std::span<const int> destinations) noexcept {
    call.sources = sources;
    call.destinations = destinations;
    return call;
  }
  [[nodiscard]] Derived& self() noexcept { return static_cast<Derived&>(*this); }
};

}  // namespace weft
