#include "file.hpp"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netdb.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>

namespace lci {

namespace {

[[noreturn]] void refuse_job(const std::string& what) { throw std::runtime_error("lci: " + what); }

/// What the first process of a job has noted.
struct Job {
  int ranks = 0;  // that have come; 0: there is none
  int size = 0;
  std::string host;
  int port = 0;
  std::string secret;
  long process = 0;  // of rank 0
};

int size_of_job() {
  const char* const text = std::getenv("LCT_PMI_FILE_NRANKS");
  if (text == nullptr) return 0;
  const char* const end = text + std::strlen(text);
  int size = 0;
  const auto read = std::from_chars(text, end, size);
  if (read.ec != std::errc() || read.ptr != end || size < 1)
    refuse_job("the variable LCT_PMI_FILE_NRANKS is '" + std::string(text) +
               "': it must be the number of ranks");
  return size;
}

/// The file, which is locked as long as it is open.
class JobFile {
 public:
  JobFile() {
    const char* const home = std::getenv("HOME");
    const char* const number = std::getenv("SLURM_JOBID");
    if (home == nullptr) refuse_job("LCT_PMI_FILE_NRANKS needs the variable HOME, in which the ranks meet");
    path_ = std::string(home) + "/.tmp";
    static_cast<void>(::mkdir(path_.c_str(), 0700));
    path_ += "/lct_pmi_file-" + std::string(number != nullptr ? number : "0");
    static_cast<void>(::mkdir(path_.c_str(), 0700));
    path_ += "/weft";
    file_ = ::open(path_.c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0600);
    if (file_ < 0 || ::flock(file_, LOCK_EX) != 0) fail("opened");
  }
  JobFile(const JobFile&) = delete;
  JobFile& operator=(const JobFile&) = delete;
  ~JobFile() { ::close(file_); }
  [[nodiscard]] Job read() const {
    std::array<char, 1024> text{};
    const ssize_t length = ::pread(file_, text.data(), text.size() - 1, 0);
    if (length < 0) fail("read");
    Job job;
    std::istringstream words(text.data());
    if (!(words >> job.ranks >> job.size >> job.host >> job.port >> job.secret >> job.process)) return {};
    return job;
  }
  void write(const Job& job) const {
    std::ostringstream text;
    if (job.ranks != 0)
      text << job.ranks << ' ' << job.size << ' ' << job.host << ' ' << job.port << ' ' << job.secret << ' '
           << job.process << '\n';
    const std::string words = text.str();
    if (::ftruncate(file_, 0) != 0 ||
        ::pwrite(file_, words.data(), words.size(), 0) != static_cast<ssize_t>(words.size()))
      fail("written");
  }

 private:
  [[noreturn]] void fail(const char* what) const {
    refuse_job(path_ + ", in which the ranks meet, cannot be " + what + ": " + std::strerror(errno));
  }
  std::string path_;
  int file_ = -1;
};

/// The name by which the ranks of other hosts know this one, if it is known.
std::string host_name() {
  std::array<char, 256> name{};
  addrinfo* found = nullptr;
  if (::gethostname(name.data(), name.size() - 1) != 0 ||
      ::getaddrinfo(name.data(), nullptr, nullptr, &found) != 0)
    return "127.0.0.1";
  ::freeaddrinfo(found);
  return name.data();
}

int unused_port() {
  const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  socklen_t length = sizeof address;
  auto* const any = reinterpret_cast<sockaddr*>(&address);
  const bool is_bound = ::bind(socket, any, length) == 0 && ::getsockname(socket, any, &length) == 0;
  ::close(socket);
  if (!is_bound) refuse_job("LCT_PMI_FILE_NRANKS: no port is free for the ranks to meet at");
  return ntohs(address.sin_port);
}

std::string new_secret() {
  std::array<unsigned char, 16> bytes{};
  if (::getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size()))
    refuse_job("LCT_PMI_FILE_NRANKS: the system has no random bytes");
  std::string text;
  for (const unsigned char byte : bytes) {
    constexpr std::string_view kDigits = "0123456789abcdef";
    text += {kDigits[byte >> 4], kDigits[byte & 15]};
  }
  return text;
}

/// Whether the job is that of processes that have died, or of another size.
bool is_stale(const Job& job, int size, const std::string& host) {
  const bool has_died = job.host == host && ::kill(static_cast<pid_t>(job.process), 0) != 0 && errno == ESRCH;
  return has_died || job.size != size || job.ranks >= size;
}

}  // namespace

bool join_by_file() {
  const int size = size_of_job();
  if (size <= 1) return false;
  const JobFile file;
  Job job = file.read();
  const std::string host = host_name();
  if (job.ranks == 0 || is_stale(job, size, host))
    job = {0, size, host, unused_port(), new_secret(), ::getpid()};
  const int rank = job.ranks++;
  file.write(job.ranks < size ? job : Job());
  setenv("RANK", std::to_string(rank).c_str(), 1);
  setenv("WORLD_SIZE", std::to_string(size).c_str(), 1);
  setenv("MASTER_ADDR", job.host.c_str(), 1);
  setenv("MASTER_PORT", std::to_string(job.port).c_str(), 1);
  setenv("WEFT_JOB_SECRET", job.secret.c_str(), 0);
  return true;
}

}  // namespace lci
