// Every rank greets every rank, itself included.
#include <weft/weft.hpp>

#include <cstdio>
#include <string>

int main() try {
  weft::Runtime runtime;             // joins the job of `weft run`, or is rank 0 of 1
  weft::Endpoint endpoint{runtime};  // posts and progresses; this one may be used by any thread
  weft::CompletionQueue inbox;       // messages are kept here until they are popped

  // From here on any rank may send to this inbox. Handles with the same id are equal on all ranks, so nobody
  // has to be told where to send.
  const weft::RemoteCompletion everybody = runtime.expose(inbox, {.id = 1});

  const std::string greeting = "hello from rank " + std::to_string(runtime.rank());
  for (int peer = 0; peer < runtime.size(); ++peer) {
    // A peer that has not started yet is no problem: send_am goes on trying, and progresses meanwhile.
    if (endpoint.send_am(peer, everybody, weft::bytes_of(greeting)) != weft::Outcome::ok) return 1;
  }

  // Ranks start and run at their own pace: the order in which greetings arrive is not defined.
  for (int count = 0; count < runtime.size(); ++count) {
    const weft::Message message = endpoint.wait(inbox);
    std::printf("rank %d of %d: %.*s\n", runtime.rank(), runtime.size(), static_cast<int>(message.size()),
                reinterpret_cast<const char*>(message.data()));
  }
  // the runtime's destructor waits until peers have taken what was sent to them
} catch (const weft::Error& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
