# Task Bench over weft::parcel (apps/task_bench/): its core library makes the graphs and checks the inputs, and is the user's own checkout.
set(WEFT_TASK_BENCH_DIR "" CACHE PATH "A checkout of Task Bench (StanfordLegion/task-bench): builds weft-task-bench with its core library")

# weft_task_bench(<target> <folder of core.h> <sources of the core>...): the core is compiled as its authors do, optimised and with its
# asserts, which are what checks the inputs of tasks; in a debug build it checks more.
function(weft_task_bench target folder)
  add_library(${target}-core STATIC ${ARGN})
  target_include_directories(${target}-core SYSTEM PUBLIC "${folder}")
  target_compile_options(${target}-core PRIVATE -UNDEBUG)
  target_compile_definitions(${target}-core PRIVATE "$<$<CONFIG:Debug>:DEBUG_CORE>")
  set_target_properties(${target}-core PROPERTIES POSITION_INDEPENDENT_CODE ON CXX_STANDARD 20)
  file(GLOB sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/apps/task_bench/*.cpp")
  add_executable(${target} ${sources})
  weft_target_defaults(${target})
  target_include_directories(${target} PRIVATE "${PROJECT_SOURCE_DIR}/apps/task_bench")
  target_link_libraries(${target} PRIVATE ${target}-core weft_parcelports)
endfunction()

if(NOT WEFT_TASK_BENCH_DIR)
  return()
endif()
set(weft_core_folder "${WEFT_TASK_BENCH_DIR}/core")
foreach(file core.h core.cc core_kernel.cc)
  if(NOT EXISTS "${weft_core_folder}/${file}")
    message(FATAL_ERROR "WEFT_TASK_BENCH_DIR is '${WEFT_TASK_BENCH_DIR}', where there is no core/${file}: it must be a checkout of "
      "https://github.com/StanfordLegion/task-bench")
  endif()
endforeach()
file(GLOB weft_core_sources CONFIGURE_DEPENDS "${weft_core_folder}/*.cc" "${weft_core_folder}/*.c")
# What is for other programs than the core.
list(FILTER weft_core_sources EXCLUDE REGEX "/(mpi_[^/]*|cuda_[^/]*|custom_taskinfo)[.]cc$")
if(weft_core_sources MATCHES "[.]c(;|$)")
  enable_language(C)
endif()
weft_task_bench(weft-task-bench "${weft_core_folder}" ${weft_core_sources})
check_cxx_compiler_flag(-mavx WEFT_HAS_AVX)
target_compile_options(weft-task-bench-core PRIVATE -w -O3 "$<$<BOOL:${WEFT_HAS_AVX}>:-mavx>")
