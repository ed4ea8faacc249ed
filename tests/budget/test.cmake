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

if(TARGET weft-mpi AND NOT WEFT_SANITIZE AND NOT CMAKE_CROSSCOMPILING)
  set(weft_mpi_instructions "${WEFTDEV_TEST_BIN_DIR}/mpi_instructions")
  set(weft_mpi_instructions_source "${CMAKE_CURRENT_SOURCE_DIR}/budget/instructions/mpi_instructions.c")
  add_custom_command(OUTPUT "${weft_mpi_instructions}"
    COMMAND "${PROJECT_BINARY_DIR}/bin/mpicc" -O2 -Wall -Wextra -Werror -o "${weft_mpi_instructions}" "${weft_mpi_instructions_source}"
    DEPENDS "${weft_mpi_instructions_source}" weft-mpi)
  add_custom_target(test-program-mpi_instructions ALL DEPENDS "${weft_mpi_instructions}")
endif()
