// Receives that always stand: each rank keeps 16 of them posted for whoever sends, and posts each again as
// soon as its message has been handled, as servers and MPI programs with persistent requests do. In the end
// those that still stand are cancelled.
#include <weft/weft.hpp>

#include <array>
#include <cstddef>
#include <cstdio>
#include <vector>

namespace {

constexpr std::uint64_t kTag = 7;
constexpr std::uint64_t kMessages = 2000;  // from each rank to each rank

struct Work {
  std::int32_t from;
  std::uint32_t length;  // of what follows
  std::array<std::uint64_t, 30> values;
};

/// One standing receive.
struct Place {
  Work work;
  weft::ReceiveHandle handle;
};

}  // namespace

int main() try {
  weft::Runtime runtime;
  weft::Endpoint endpoint{runtime};
  const auto ranks = static_cast<std::uint64_t>(runtime.size());

  weft::CompletionQueue arrived;
  std::array<Place, 16> places;
  const auto stand = [&](Place& place) {
    // A receive is refused for lack of records only: 16 of them are always granted, sooner or later.
    while (endpoint
               .post_receive(0, kTag, weft::mutable_bytes_of(place.work),
                             {.completion = &arrived,
                              .user_data = &place,
                              .policy = weft::MatchingPolicy::tag_only,
                              .handle = &place.handle})
               .is_retry())
      endpoint.progress();
  };
  for (Place& place : places) stand(place);

  std::uint64_t received = 0;
  std::uint64_t wrong = 0;
  const auto handle_one = [&](const weft::Message& message) {
    auto& place = *static_cast<Place*>(message.user_data());
    const Work& work = place.work;
    if (message.outcome() != weft::Outcome::ok || work.from != message.peer() ||
        work.values[work.length - 1] != work.length)
      ++wrong;
    ++received;
    stand(place);  // the buffer is free again
  };

  // Nobody may block in a send while others wait for its receives: sends borrow one of 16 buffers until they
  // have ended.
  weft::CompletionQueue sent;
  std::array<Work, 16> outgoing;
  std::vector<Work*> idle;
  for (Work& work : outgoing) idle.push_back(&work);
  weft::Message message;
  const auto serve = [&] {
    endpoint.progress();
    while (arrived.pop(message)) handle_one(message);
    while (sent.pop(message)) idle.push_back(static_cast<Work*>(message.user_data()));
  };
  for (std::uint64_t number = 0; number < kMessages * ranks; ++number) {
    while (idle.empty()) serve();
    Work& work = *idle.back();
    idle.pop_back();
    work = {runtime.rank(), 1 + static_cast<std::uint32_t>(number % 30), {}};
    work.values[work.length - 1] = work.length;
    const weft::Bytes used =
        weft::bytes_of(work).first(offsetof(Work, values) + work.length * sizeof(std::uint64_t));
    while (endpoint
               .post_send(static_cast<int>(number % ranks), kTag, used,
                          {.completion = &sent, .user_data = &work, .policy = weft::MatchingPolicy::tag_only})
               .is_retry())
      serve();
  }
  while (idle.size() < outgoing.size()) serve();
  while (received < kMessages * ranks) handle_one(endpoint.wait(arrived));

  // Nobody sends any more. Each receive that still stands ends as cancelled, through its completion object.
  for (const Place& place : places)
    if (!endpoint.cancel(place.handle)) ++wrong;
  std::uint64_t ended = 0;
  while (arrived.pop(message)) ended += message.outcome() == weft::Outcome::cancelled ? 1 : 0;
  std::printf("rank %d: %llu messages, %llu wrong, %llu receives cancelled\n", runtime.rank(),
              static_cast<unsigned long long>(received), static_cast<unsigned long long>(wrong),
              static_cast<unsigned long long>(ended));
  return wrong == 0 ? 0 : 1;
} catch (const weft::Error& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
