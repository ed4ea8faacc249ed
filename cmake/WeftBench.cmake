# Every tools/perf/micro/<name>.cpp is one google-benchmark program, bench-<name>.

find_package(benchmark QUIET)
if(NOT benchmark_FOUND)
  message(STATUS "weft: micro-benchmarks left out, google-benchmark (libbenchmark-dev) was not found")
  return()
endif()
file(GLOB weft_benches CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/tools/perf/micro/*.cpp")
foreach(source IN LISTS weft_benches)
  get_filename_component(name "${source}" NAME_WE)
  add_executable(bench-${name} "${source}")
  weft_target_defaults(bench-${name})
  target_link_libraries(bench-${name} PRIVATE weft_internal benchmark::benchmark benchmark::benchmark_main)
endforeach()
