// Rank 0 serves, all ranks ask (rank 0 as well, so the program makes sense alone).
//
// A request carries the handle to which its reply shall go. The server knows nothing about its clients: it
// answers to whatever handle arrives. It works inside a handler, which runs within the progress of rank 0.
#include <weft/weft.hpp>

#include <cstdio>

namespace {

constexpr std::uint64_t kRequests = 10000;  // of each rank
// Replies that the network refuses wait in the server's backlog, which is bounded (attributes backlog and
// backlog_peer). A client with few requests on their way never fills it.
constexpr std::uint64_t kInFlight = 64;

struct Request {
  weft::RemoteCompletion reply_to;
  std::uint64_t number;
};
struct Reply {
  std::uint64_t number;
  std::uint64_t square;
};

}  // namespace

int main() try {
  weft::Runtime runtime;
  weft::Endpoint endpoint{runtime};

  std::uint64_t served = 0;
  weft::Handler server{[&](weft::Message& message) {
    const auto request = message.as<Request>();
    const Reply reply{request.number, request.number * request.number};
    // Never blocks: what cannot leave now goes to the backlog, and leaves during a later progress.
    const weft::Status status = endpoint.post_am(message.peer(), request.reply_to, weft::bytes_of(reply));
    if (!status.is_accepted()) runtime.abort(1, "a client asked more than kInFlight questions at a time");
    ++served;
  }};
  weft::Counter finished;
  weft::CompletionQueue replies;
  // Clients expose the same ids as the server, and so get equal handles for free. Only rank 0 is ever asked.
  const weft::RemoteCompletion service = runtime.expose(server, {.id = 1});
  const weft::RemoteCompletion farewell = runtime.expose(finished, {.id = 2});
  const weft::RemoteCompletion reply_to = runtime.expose(replies, {.id = 3});

  std::uint64_t asked = 0;
  std::uint64_t wrong = 0;
  for (std::uint64_t answered = 0; answered < kRequests; ++answered) {
    for (; asked < kRequests && asked < answered + kInFlight; ++asked)
      if (endpoint.send_am(0, service, weft::bytes_of(Request{reply_to, asked})) != weft::Outcome::ok)
        return 1;
    const auto reply = endpoint.wait(replies).as<Reply>();  // replies come in any order
    if (reply.square != reply.number * reply.number) ++wrong;
  }
  std::printf("rank %d: %llu replies, %llu wrong\n", runtime.rank(),
              static_cast<unsigned long long>(kRequests), static_cast<unsigned long long>(wrong));

  if (endpoint.send_am(0, farewell, {}) != weft::Outcome::ok) return 1;
  if (runtime.rank() == 0) {
    endpoint.wait(finished, static_cast<std::uint64_t>(runtime.size()));  // goes on serving meanwhile
    std::printf("rank 0 served %llu requests\n", static_cast<unsigned long long>(served));
  }
  return wrong == 0 ? 0 : 1;
} catch (const weft::Error& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
