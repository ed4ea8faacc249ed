// Task Bench over weft::parcel: runs the graphs that Task Bench's core library makes of its command line,
// checks inputs by that, and reports as that does.
//
//     weft run -n 4 -- weft-task-bench -type stencil_1d -width 16 -steps 1000 -kernel compute_bound -iter 64
//
// Further, "-parcel workers=2,port=tcp": options of the parcel runtime.
#include <weft/error.hpp>
#include <weft/parcel/parcel.hpp>

#include <cstring>
#include <exception>
#include <string>
#include <vector>

#include <core.h>
#include "job.hpp"
#include "study/parcelports/parcelports.hpp"

namespace {

/// Takes "-parcel OPTIONS" out of the arguments: the rest is the core's, which knows no others.
std::string take_parcel_options(std::vector<char*>& arguments) {
  std::string options;
  for (std::size_t index = 1; index < arguments.size();) {
    if (std::strcmp(arguments[index], "-parcel") != 0) {
      ++index;
      continue;
    }
    if (index + 1 == arguments.size())
      weft::task_bench::give_up(
          "-parcel has no value: it must be options of the parcel runtime, as workers=2");
    if (!options.empty()) options += ',';
    options += arguments[index + 1];
    const auto here = arguments.begin() + static_cast<std::ptrdiff_t>(index);
    arguments.erase(here, here + 2);
  }
  return options;
}

void run(int argc, char** argv) {
  std::vector<char*> arguments(argv, argv + argc);
  const std::string options = take_parcel_options(arguments);
  const App app(static_cast<int>(arguments.size()), arguments.data());
  weft::parcel::ports::register_all();
  weft::parcel::Runtime runtime({.text = options});
  if (runtime.rank() == 0) app.display();
  weft::task_bench::Job job(runtime, app.graphs);
  job.run();  // as Task Bench's other programs: the first time is not measured
  const double seconds = job.run();
  if (runtime.rank() == 0) app.report_timing(seconds);
}

}  // namespace

int main(int argc, char** argv) {
  try {
    run(argc, argv);
    return 0;
  } catch (const std::exception& error) {
    weft::task_bench::give_up(error.what());
  }
}
