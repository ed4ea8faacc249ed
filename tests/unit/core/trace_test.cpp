// Files of traces: their names, what is dropped, and that every thread's events are there.
#include "core/diagnosis/trace.hpp"
#include "base/clock.hpp"
#include "base/rank_file.hpp"

#include <weft/error.hpp>

#include <gtest/gtest.h>

#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

namespace weft::core {
namespace {

class Folder {
 public:
  Folder() {
    char name[] = "/tmp/weft-trace-test-XXXXXX";
    path_ = ::mkdtemp(name);
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  [[nodiscard]] std::string operator/(const std::string& name) const { return path_ + "/" + name; }
  [[nodiscard]] const std::string& path() const noexcept { return path_; }

 private:
  std::string path_;
};

std::string content_of(const std::string& path) {
  std::ifstream file(path);
  std::stringstream content;
  content << file.rdbuf();
  return content.str();
}

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t number = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++number;
  return number;
}

TraceEvent event_named(const char* name, const char* detail = nullptr) {
  TraceEvent event;
  event.category = "test";
  event.name = name;
  event.detail = detail;
  event.begin_ns = base::now_ns();
  return event;
}

TEST(Trace, FileNamesStandForRankProcessAndJob) {
  const Folder folder;
  const std::string process = std::to_string(::getpid());
  EXPECT_EQ(base::rank_file_name("on", "weft-trace-%r.json", 3, 4, "j"), "weft-trace-3.json");
  EXPECT_EQ(base::rank_file_name(folder.path(), "weft-trace-%r.json", 3, 4, "j"),
            folder / "weft-trace-3.json");
  EXPECT_EQ(base::rank_file_name(folder.path() + "/", "weft-trace-%r.json", 3, 4, "j"),
            folder / "weft-trace-3.json");
  EXPECT_EQ(base::rank_file_name("%j/a-%r-%p-%x%", "weft-trace-%r.json", 3, 4, "job"),
            "job/a-3-" + process + "-%x%");
  EXPECT_EQ(base::rank_file_name("a.b/trace.json", "weft-trace-%r.json", 3, 4, "j"), "a.b/trace-3.json");
  EXPECT_EQ(base::rank_file_name("a.b/trace", "weft-trace-%r.json", 3, 4, "j"), "a.b/trace-3");
  EXPECT_EQ(base::rank_file_name("a.b/trace.json", "weft-trace-%r.json", 0, 1, "j"), "a.b/trace.json")
      << "alone";
}

TEST(Trace, APathThatCannotBeWrittenIsRefused) {
  try {
    const Tracer tracer("/nowhere/trace.json", 16, 0, 1, "j");
    FAIL() << "accepted";
  } catch (const Error& error) {
    EXPECT_EQ(
        std::string(error.what()),
        "WEFT_TRACE=/nowhere/trace.json is not valid: \"/nowhere/trace.json\" cannot be written: No such "
        "file or directory; it must be off, on, or a file (%r: rank) or folder that can be written");
  }
}

TEST(Trace, EventsOfAllThreadsAreWritten) {
  const Folder folder;
  constexpr std::size_t kThreads = 4;
  constexpr std::size_t kEvents = 100;
  Tracer tracer(folder / "t", 1000, 0, 1, "j");
  std::vector<std::thread> threads;
  for (std::size_t thread = 0; thread < kThreads; ++thread)
    threads.emplace_back([&] {
      for (std::size_t number = 0; number < kEvents; ++number) tracer.add(event_named("step"));
    });
  EXPECT_TRUE(tracer.write()) << "beside them";
  for (std::thread& thread : threads) thread.join();
  EXPECT_TRUE(tracer.write());
  const std::string content = content_of(folder / "t");
  EXPECT_EQ(count(content, "\"name\":\"step\""), kThreads * kEvents);
  EXPECT_EQ(count(content, "\"dropped_events\":0"), 1U);
}

TEST(Trace, WhatDoesNotFitIsDroppedAndCounted) {
  const Folder folder;
  Tracer tracer(folder / "t", 16, 0, 1, "j");
  for (int number = 0; number < 20; ++number) tracer.add(event_named("step"));
  EXPECT_TRUE(tracer.write());
  const std::string content = content_of(folder / "t");
  EXPECT_EQ(count(content, "\"name\":\"step\""), 16U);
  EXPECT_EQ(count(content, "\"dropped_events\":4"), 1U);
}

TEST(Trace, EqualInstantsInARowAreOneEvent) {
  const Folder folder;
  Tracer tracer(folder / "t", 16, 0, 1, "j");
  for (int number = 0; number < 1000; ++number) tracer.add_repeating(event_named("post", "no_slot"));
  tracer.add_repeating(event_named("post", "no_credit"));
  tracer.add(event_named("poll"));
  tracer.add_repeating(event_named("post", "no_credit"));
  EXPECT_TRUE(tracer.write());
  const std::string content = content_of(folder / "t");
  EXPECT_EQ(count(content, "\"name\":\"post\""), 3U);
  EXPECT_EQ(count(content, "\"times\":1000"), 1U);
}

}  // namespace
}  // namespace weft::core
