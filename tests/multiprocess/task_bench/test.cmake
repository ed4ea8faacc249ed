# Task Bench's program over weft::parcel with a core library of our own; beside it the one with Task Bench's core, where there is a checkout.
set(core "${CMAKE_CURRENT_SOURCE_DIR}/support/task_bench_core")
weft_task_bench(test-program-task_bench "${core}" "${core}/core.cpp")
weft_target_defaults(test-program-task_bench-core)
set_target_properties(test-program-task_bench PROPERTIES OUTPUT_NAME task_bench RUNTIME_OUTPUT_DIRECTORY "${WEFTDEV_TEST_BIN_DIR}")
