# Manual pages and the completion of bash: the programs write them from the options that they parse.

option(WEFT_BUILD_MANUALS "Write manual pages and shell completion with the programs" ON)
# A program for another processor needs something that runs it; a sanitizer has no say here.
if(NOT WEFT_BUILD_MANUALS OR WEFT_SANITIZE OR (CMAKE_CROSSCOMPILING AND NOT CMAKE_CROSSCOMPILING_EMULATOR))
  return()
endif()

set(weft_manual_folder "${PROJECT_BINARY_DIR}/manuals")
set(weft_manual_files)

# weft_write_manual(<folder> <file> <program> <arguments>...): the file is what the program prints.
function(weft_write_manual folder file program)
  set(path "${weft_manual_folder}/${folder}/${file}")
  file(MAKE_DIRECTORY "${weft_manual_folder}/${folder}")
  add_custom_command(OUTPUT "${path}"
    COMMAND ${program} ${ARGN} > "${path}.part"
    COMMAND "${CMAKE_COMMAND}" -E rename "${path}.part" "${path}"
    DEPENDS ${program} ${weft_manual_programs} VERBATIM)
  set(weft_manual_files ${weft_manual_files} "${path}" PARENT_SCOPE)
endfunction()

if(TARGET weft-command)
  weft_write_manual(man1 weft.1 weft-command --manual)
  foreach(command run info)
    weft_write_manual(man1 weft-${command}.1 weft-command ${command} --manual)
  endforeach()
  foreach(command perf study)
    weft_write_manual(man1 weft-${command}.1 weft-${command} --manual)
  endforeach()
  # weft asks the programs of its commands for their parts.
  set(weft_manual_programs weft-perf weft-study)
  weft_write_manual(bash weft weft-command --completion bash)
  set(weft_manual_programs)
endif()
if(TARGET weft-kmer)
  weft_write_manual(man1 weft-kmer.1 weft-kmer --manual)
  weft_write_manual(bash weft-kmer weft-kmer --completion bash)
endif()
if(weft_manual_files)
  add_custom_target(weft-manuals ALL DEPENDS ${weft_manual_files})
endif()

if(WEFT_INSTALL AND weft_manual_files)
  install(DIRECTORY "${weft_manual_folder}/man1" DESTINATION "${CMAKE_INSTALL_MANDIR}")
  install(DIRECTORY "${weft_manual_folder}/bash/" DESTINATION "${CMAKE_INSTALL_DATADIR}/bash-completion/completions")
endif()
