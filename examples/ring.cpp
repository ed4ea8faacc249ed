// A token goes round all ranks a thousand times.
#include <weft/weft.hpp>

#include <cstdio>

int main() try {
  weft::Runtime runtime;                                       // joins the job; rank 0 of 1 when started alone
  weft::Endpoint endpoint{runtime};                            // default device, pool and matching engine
  weft::CompletionQueue inbox;
  auto remote = runtime.expose(inbox, {.id = 1});              // the same handle on every rank

  std::uint64_t hops = 0;
  const int next = (runtime.rank() + 1) % runtime.size();
  const auto pass_on = [&] { return endpoint.send_am(next, remote, weft::bytes_of(hops)); };
  if (runtime.rank() == 0 && pass_on() != weft::Outcome::ok) return 1;
  for (int round = 0; round < 1000; ++round) {
    weft::Message message = endpoint.wait(inbox);              // progresses; spins, yields, then parks
    hops = message.as<std::uint64_t>() + 1;
    if ((runtime.rank() != 0 || round < 999) && pass_on() != weft::Outcome::ok) return 1;
  }                                                            // the token ends where it began
  if (runtime.rank() == 0) std::printf("%llu hops\n", static_cast<unsigned long long>(hops));
} catch (const weft::Error& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
