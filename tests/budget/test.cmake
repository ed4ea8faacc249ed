weft_test_program(test-program-active_message_instructions "${WEFT_TEST_BIN_DIR}"
  "${CMAKE_CURRENT_SOURCE_DIR}/budget/instructions/active_message_instructions.cpp")
set_target_properties(test-program-active_message_instructions PROPERTIES OUTPUT_NAME active_message_instructions)
