// Two ranks that both wait for a message which nobody sends, because each answers only what it has received.
// It does not end by itself: weft run -n 2 --explain 2 --timeout 5 example-deadlock
#include <weft/weft.hpp>

#include <cstdint>
#include <cstdio>
#include <span>

namespace {

constexpr std::uint64_t kQuestion = 7;
constexpr std::uint64_t kAnswer = 9;

/// What the other rank answers to `mine`.
std::uint64_t exchange(weft::Endpoint& endpoint, int partner, std::uint64_t wanted, std::uint64_t mine) {
  std::uint64_t theirs = 0;
  weft::Counter received;
  (void)endpoint.post_receive(partner, wanted, std::as_writable_bytes(std::span(&theirs, 1)),
                              {.completion = &received});
  endpoint.wait(received, 1);  // the mistake: nobody has sent anything yet
  (void)endpoint.send(partner, wanted == kQuestion ? kAnswer : kQuestion, weft::bytes_of(mine));
  return theirs;
}

}  // namespace

int main() try {
  weft::Runtime runtime;
  weft::Endpoint endpoint{runtime};
  if (runtime.size() != 2) {
    std::printf("this example is about two ranks\n");
    return 0;
  }
  const int partner = 1 - runtime.rank();
  const std::uint64_t wanted = runtime.rank() == 0 ? kAnswer : kQuestion;
  const std::uint64_t theirs = exchange(endpoint, partner, wanted, 1);
  std::printf("rank %d received %llu\n", runtime.rank(), static_cast<unsigned long long>(theirs));
} catch (const weft::Error& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
