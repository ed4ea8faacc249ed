#include "network/mixed/routes.hpp"

#include <string>

namespace weft::network::mixed {

Routes::Routes(int ranks, Network& local, const Network& remote, const base::Log& log)
    : local_(local), remote_(remote), log_(log), table_(static_cast<std::size_t>(ranks)) {}

Route Routes::choose(int peer) noexcept {
  const Network::Reach reach = local_.reach(peer);
  if (reach == Network::Reach::unknown) return Route::unknown;
  const Route route = reach == Network::Reach::local ? Route::local : Route::remote;
  auto before = Route::unknown;
  // Pairs with the acquire in of(). Threads that choose at the same time find the same.
  if (!table_[static_cast<std::size_t>(peer)].compare_exchange_strong(before, route,
                                                                      std::memory_order_acq_rel))
    return before;
  (route == Route::local ? local_ranks_ : remote_ranks_).fetch_add(1, std::memory_order_relaxed);
  const auto text = [&] {
    return "rank " + std::to_string(peer) + " is reached by " +
           (route == Route::local ? local_.name() : remote_.name()) + ": " + local_.reason_of_reach(peer);
  };
  // A peer of this host that does not share memory is slower than it could be.
  if (reach == Network::Reach::unreachable)
    log_.warn(text());
  else
    log_.info(text);
  return route;
}

}  // namespace weft::network::mixed
