// The log, and what initialisation sets up for it.
#include <lct.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <string>
#include <vector>

namespace {

struct Log {
  std::vector<std::string> levels;
  int level = 0;
  std::string name;
  std::FILE* file = stderr;
  std::vector<std::string> only;
  std::vector<std::string> never;

  Log() = default;
  Log(const Log&) = delete;
  Log& operator=(const Log&) = delete;
  ~Log() {
    if (file != stderr && file != stdout) std::fclose(file);
  }
  [[nodiscard]] bool writes(int at, const char* tag) const {
    if (at > level) return false;
    if (!only.empty() && std::find(only.begin(), only.end(), tag) == only.end()) return false;
    return std::find(never.begin(), never.end(), tag) == never.end();
  }
  [[nodiscard]] const char* level_name(int at) const {
    return at >= 0 && static_cast<std::size_t>(at) < levels.size()
               ? levels[static_cast<std::size_t>(at)].c_str()
               : "?";
  }
};

std::vector<std::string> words_of(const char* text) {
  std::vector<std::string> words;
  std::string rest = text != nullptr ? text : "";
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find(','), rest.size());
    if (end != 0) words.push_back(rest.substr(0, end));
    rest.erase(0, end + 1);
  }
  return words;
}

std::mutex log_mutex;
int log_users = 0;

void begin_line(const Log& log, int level, const char* tag, const char* file, const char* func, int line) {
  std::fprintf(log.file, "%s:%d:%d:%s<%s:%s:%d> %s(%s): ", LCT_hostname, LCT_rank, LCT_get_thread_id(),
               log.name.c_str(), file, func, line, log.level_name(level), tag);
}

}  // namespace

extern "C" {

int LCT_rank = -1;
char LCT_hostname[HOST_NAME_MAX + 1] = "";
LCT_log_ctx_t LCT_log_ctx_default = nullptr;

void LCT_init() {
  const std::lock_guard lock(log_mutex);
  if (log_users++ != 0) return;
  if (gethostname(LCT_hostname, sizeof LCT_hostname) != 0) std::strcpy(LCT_hostname, "unknown");
  LCT_hostname[HOST_NAME_MAX] = '\0';
  static const char* const kLevels[] = {"error", "warn", "diag", "info", "debug", "trace"};
  LCT_log_ctx_default = LCT_log_ctx_alloc(kLevels, LCT_LOG_MAX, LCT_LOG_WARN, "lct", nullptr,
                                          std::getenv("LCT_LOG_LEVEL"), nullptr, nullptr);
}
void LCT_fina() {
  const std::lock_guard lock(log_mutex);
  if (log_users == 0 || --log_users != 0) return;
  LCT_log_ctx_free(&LCT_log_ctx_default);
}
void LCT_set_rank(int rank) { LCT_rank = rank; }
int LCT_get_rank() { return LCT_rank; }

LCT_log_ctx_t LCT_log_ctx_alloc(const char* const log_levels[], int count, int default_log_level,
                                const char* ctx_name, char* filename, char* log_level_str, char* whitelist,
                                char* blacklist) {
  Log* const log = new Log;
  for (int index = 0; index < count; ++index) log->levels.emplace_back(log_levels[index]);
  log->level = default_log_level;
  log->name = ctx_name != nullptr ? ctx_name : "";
  if (log_level_str != nullptr) {
    const auto found = std::find(log->levels.begin(), log->levels.end(), log_level_str);
    if (found != log->levels.end())
      log->level = static_cast<int>(found - log->levels.begin());
    else
      std::fprintf(stderr, "lct: the log level '%s' of %s is not known: %s is used\n", log_level_str,
                   log->name.c_str(), log->level_name(log->level));
  }
  log->only = words_of(whitelist);
  log->never = words_of(blacklist);
  if (filename != nullptr && std::strcmp(filename, "stdout") == 0) {
    log->file = stdout;
  } else if (filename != nullptr && *filename != '\0' && std::strcmp(filename, "stderr") != 0) {
    std::string path(filename);
    if (const std::size_t at = path.find('%'); at != std::string::npos)
      path.replace(at, 1, std::to_string(LCT_rank));
    std::FILE* const file = std::fopen(path.c_str(), "w");
    if (file != nullptr)
      log->file = file;
    else
      std::fprintf(stderr, "lct: the log file '%s' cannot be written: %s\n", path.c_str(),
                   std::strerror(errno));
  }
  return log;
}
void LCT_log_ctx_free(LCT_log_ctx_t* log_ctx_p) {
  delete static_cast<Log*>(*log_ctx_p);
  *log_ctx_p = nullptr;
}
int LCT_log_get_level(LCT_log_ctx_t log_ctx) {
  return log_ctx != nullptr ? static_cast<Log*>(log_ctx)->level : static_cast<int>(LCT_LOG_WARN);
}
void LCT_Log_flush(LCT_log_ctx_t log_ctx) {
  if (log_ctx != nullptr) std::fflush(static_cast<Log*>(log_ctx)->file);
}

void LCT_Logv_(LCT_log_ctx_t log_ctx, int log_level, const char* log_tag, const char* file, const char* func,
               int line, const char* format, va_list vargs) {
  if (log_ctx == nullptr) return;
  const Log& log = *static_cast<Log*>(log_ctx);
  if (!log.writes(log_level, log_tag)) return;
  flockfile(log.file);
  begin_line(log, log_level, log_tag, file, func, line);
  std::vfprintf(log.file, format, vargs);
  funlockfile(log.file);
}
void LCT_Log_(LCT_log_ctx_t log_ctx, int log_level, const char* log_tag, const char* file, const char* func,
              int line, const char* format, ...) {
  va_list values;
  va_start(values, format);
  LCT_Logv_(log_ctx, log_level, log_tag, file, func, line, format, values);
  va_end(values);
}
void LCT_Report_false_assert(LCT_log_ctx_t log_ctx, const char* expr_str, const char* file, const char* func,
                             int line, const char* format, ...) {
  static const Log fallback;
  begin_line(log_ctx != nullptr ? *static_cast<Log*>(log_ctx) : fallback, LCT_LOG_ERROR, "assert", file, func,
             line);
  std::FILE* const out = log_ctx != nullptr ? static_cast<Log*>(log_ctx)->file : stderr;
  std::fprintf(out, "%s does not hold: ", expr_str);
  va_list values;
  va_start(values, format);
  std::vfprintf(out, format, values);
  va_end(values);
  std::fflush(out);
  std::abort();
}

}  // extern "C"
