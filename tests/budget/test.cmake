foreach(program active_message matched one_sided polling streams)
  weft_test_program(test-program-${program}_instructions "${WEFTDEV_TEST_BIN_DIR}"
    "${CMAKE_CURRENT_SOURCE_DIR}/budget/instructions/${program}_instructions.cpp")
  set_target_properties(test-program-${program}_instructions PROPERTIES OUTPUT_NAME ${program}_instructions)
endforeach()
