foreach(program active_message matched one_sided polling streams)
  weft_test_program(test-program-${program}_instructions "${WEFTDEV_TEST_BIN_DIR}"
    "${CMAKE_CURRENT_SOURCE_DIR}/budget/instructions/${program}_instructions.cpp")
  set_target_properties(test-program-${program}_instructions PROPERTIES OUTPUT_NAME ${program}_instructions)
endforeach()

if(TARGET weft-lci)
  weft_test_program(test-program-lci_instructions "${WEFTDEV_TEST_BIN_DIR}"
    "${CMAKE_CURRENT_SOURCE_DIR}/budget/instructions/lci_instructions.cpp")
  set_target_properties(test-program-lci_instructions PROPERTIES OUTPUT_NAME lci_instructions)
  target_link_libraries(test-program-lci_instructions PRIVATE weft-lci)
endif()
