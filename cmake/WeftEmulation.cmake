# Scripts that start the programs of a cross build by its emulator, in emulated/ as the programs are in bin/.

function(weft_emulate folder)
  get_property(targets DIRECTORY "${folder}" PROPERTY BUILDSYSTEM_TARGETS)
  foreach(target IN LISTS targets)
    get_target_property(type ${target} TYPE)
    if(NOT type STREQUAL "EXECUTABLE")
      continue()
    endif()
    get_target_property(output "${target}" RUNTIME_OUTPUT_DIRECTORY)
    file(RELATIVE_PATH place "${PROJECT_BINARY_DIR}/bin" "${output}")
    list(JOIN CMAKE_CROSSCOMPILING_EMULATOR " " emulator)
    file(GENERATE OUTPUT "${PROJECT_BINARY_DIR}/emulated/${place}/$<TARGET_FILE_NAME:${target}>"
      CONTENT "#!/bin/sh\nexec ${emulator} '$<TARGET_FILE:${target}>' \"$@\"\n"
      FILE_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
  endforeach()
endfunction()

weft_emulate("${PROJECT_SOURCE_DIR}")
if(WEFT_BUILD_EXAMPLES)
  weft_emulate("${PROJECT_SOURCE_DIR}/examples")
endif()
weft_emulate("${CMAKE_CURRENT_SOURCE_DIR}")
