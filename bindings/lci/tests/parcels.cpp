// Many threads send parcels as a runtime of tasks does: a header, assembled in a packet, as an active message
// to a queue, and what is large behind it as sends of their own, over several devices. Usage: parcels THREADS
// DEVICES PARCELS queue|sync
#include <atomic>
#include <cstring>
#include <list>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "check.hpp"

namespace {

const size_t kChunkSizes[] = {100, 20000};

struct Header {
  int chunks;
  lci::tag_t tag;  // of the first chunk
  unsigned char fill;
  char data[40];
};

/// One operation that was posted; `buffer` is freed at its end.
struct Posted {
  std::vector<unsigned char> buffer;
  bool is_receive;
  unsigned char fill;
};

struct Line {
  lci::device_t device;
  lci::comp_t headers;
  lci::comp_t ends;
  lci::rcomp_t remote;
};

int me, ranks, parcels;
bool with_queue;
std::vector<Line> lines;
std::atomic<int> next_parcel(0), headers_taken(0), chunks_taken(0), chunks_awaited(0), sends_open(0);
std::atomic<lci::tag_t> next_tag(0);
std::mutex pending_mutex;
std::list<lci::comp_t> pending;  // synchronizers, each of one operation

void end_of(const lci::status_t& status) {
  CHECK(status.is_done());
  Posted* const posted = static_cast<Posted*>(status.get_user_context());
  if (posted == nullptr) {  // a header
    --sends_open;
    return;
  }
  if (posted->is_receive) {
    CHECK(status.get_size() == posted->buffer.size());
    for (const unsigned char byte : posted->buffer) CHECK(byte == posted->fill);
    ++chunks_taken;
  } else {
    --sends_open;
  }
  delete posted;
}

lci::comp_t completion_for(const Line& line) { return with_queue ? line.ends : lci::alloc_sync(); }

/// What an operation has answered, which was posted with `comp`. Returns false when it has to be posted
/// again.
bool settle(const lci::status_t& status, lci::comp_t comp) {
  if (status.is_posted()) {
    if (with_queue) return true;
    const std::lock_guard<std::mutex> lock(pending_mutex);
    pending.push_back(comp);
    return true;
  }
  if (!with_queue) lci::free_comp(&comp);
  if (status.is_retry()) return false;
  end_of(status);
  return true;
}

void take_header(const lci::status_t& status, const Line& line);

bool take_pending() {
  const std::unique_lock<std::mutex> lock(pending_mutex, std::try_to_lock);
  if (!lock.owns_lock() || pending.empty()) return false;
  lci::comp_t sync = pending.front();
  pending.pop_front();
  lci::status_t status;
  if (!lci::sync_test(sync, &status)) {
    pending.push_back(sync);
    return false;
  }
  lci::free_comp(&sync);
  end_of(status);
  return true;
}

/// Background work of any thread. Returns whether there was something.
bool work(const Line& line) {
  bool did = lci::progress_x().device(line.device)().is_done();
  lci::status_t status = lci::cq_pop(line.headers);
  if (status.is_done()) {
    take_header(status, line);
    did = true;
  }
  if (!with_queue) return take_pending() || did;
  status = lci::cq_pop(line.ends);
  if (status.is_done()) end_of(status);
  return did || status.is_done();
}

template <class Post>
void insist(const Line& line, const Post& operation) {
  for (int tries = 0;; ++tries) {
    const lci::comp_t comp = completion_for(line);
    if (settle(operation(comp), comp)) return;
    lci::progress_x().device(line.device)();
    if (tries % 16 == 15) std::this_thread::yield();
  }
}

void take_header(const lci::status_t& status, const Line& line) {
  Header header;
  CHECK(status.get_size() == sizeof header);
  std::memcpy(&header, status.get_buffer(), sizeof header);
  lci::put_upacket(status.get_buffer());
  for (const char byte : header.data) CHECK(static_cast<unsigned char>(byte) == header.fill);
  chunks_awaited += header.chunks;
  ++headers_taken;
  for (int chunk = 0; chunk < header.chunks; ++chunk) {
    Posted* const posted = new Posted{std::vector<unsigned char>(kChunkSizes[chunk]), true, header.fill};
    insist(line, [&](lci::comp_t comp) {
      return lci::post_recv_x(status.get_rank(), posted->buffer.data(), posted->buffer.size(),
                              header.tag + static_cast<lci::tag_t>(chunk), comp)
          .device(line.device)
          .user_context(posted)();
    });
  }
}

void send_parcel(int number, const Line& line) {
  const int to = (me + 1 + number) % ranks;
  Header header = Header();
  header.chunks = number % 3;
  header.fill = static_cast<unsigned char>(number);
  header.tag = next_tag.fetch_add(2) % (lci::get_g_runtime().get_attr_max_tag() - 2);
  std::memset(header.data, header.fill, sizeof header.data);
  void* packet = nullptr;
  while ((packet = lci::get_upacket()) == nullptr) work(line);
  std::memcpy(packet, &header, sizeof header);
  sends_open += 1 + header.chunks;
  insist(line, [&](lci::comp_t comp) {
    return lci::post_am_x(to, packet, sizeof header, comp, line.remote).device(line.device)();
  });
  for (int chunk = 0; chunk < header.chunks; ++chunk) {
    Posted* const posted =
        new Posted{std::vector<unsigned char>(kChunkSizes[chunk], header.fill), false, header.fill};
    insist(line, [&](lci::comp_t comp) {
      return lci::post_send_x(to, posted->buffer.data(), posted->buffer.size(),
                              header.tag + static_cast<lci::tag_t>(chunk), comp)
          .device(line.device)
          .user_context(posted)();
    });
  }
}

int expected() {
  int count = 0;
  for (int from = 0; from < ranks; ++from)
    for (int number = 0; number < parcels; ++number) count += (from + 1 + number) % ranks == me;
  return count;
}

void worker(const Line& line, int awaited) {
  for (int number; (number = next_parcel++) < parcels;) {
    send_parcel(number, line);
    work(line);
  }
  while (headers_taken != awaited || chunks_taken != chunks_awaited || sends_open != 0)
    if (!work(line)) std::this_thread::yield();
}

}  // namespace

int main(int count, char** arguments) {
  CHECK(count == 5);
  const int threads = std::atoi(arguments[1]), devices = std::atoi(arguments[2]);
  parcels = std::atoi(arguments[3]);
  with_queue = std::string(arguments[4]) == "queue";
  lci::g_runtime_init_x().alloc_default_device(false)();
  me = lci::get_rank_me();
  ranks = lci::get_rank_n();
  for (int index = 0; index < devices; ++index) {
    Line line;
    line.device = lci::alloc_device();
    line.headers = lci::alloc_cq_x().zero_copy_am(true)();
    line.ends = lci::alloc_cq();
    line.remote = lci::register_rcomp(line.headers);
    lines.push_back(line);
  }
  lci::barrier_x().device(lines[0].device)();
  const int awaited = expected();
  std::vector<std::thread> workers;
  for (int index = 0; index < threads; ++index)
    workers.emplace_back(worker, std::cref(lines[static_cast<size_t>(index % devices)]), awaited);
  for (std::thread& each : workers) each.join();
  // Threads that share a device take turns in its collectives.
  workers.clear();
  for (int index = 0; index < threads; ++index)
    workers.emplace_back([] {
      for (int round = 0; round < 20; ++round) lci::barrier_x().device(lines[0].device)();
    });
  for (std::thread& each : workers) each.join();
  for (Line& line : lines) {
    lci::deregister_rcomp(line.remote);
    lci::free_comp(&line.headers);
    lci::free_comp(&line.ends);
    lci::free_device(&line.device);
  }
  lci::g_runtime_fina();
  std::puts("ok");
  return 0;
}
