# What every target of this project has in common. Nothing here reaches a client's own targets.

include(CheckCXXCompilerFlag)
check_cxx_compiler_flag(-momit-leaf-frame-pointer WEFT_HAS_OMIT_LEAF_FRAME_POINTER)
check_cxx_compiler_flag(-fno-devirtualize-speculatively WEFT_HAS_NO_SPECULATIVE_DEVIRTUALIZATION)

function(weft_target_defaults target)
  # Of how a target is compiled, not of who links it: layers in front of which clients have headers of an older
  # standard leave these clients theirs. The library itself says more (weft_configure_library).
  target_compile_features(${target} PRIVATE cxx_std_20)
  target_compile_options(${target} PRIVATE -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wno-sign-conversion)
  # What the standard library of GCC 12 has declared deprecated and uses itself; g++ warns of our own uses.
  if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
    target_compile_options(${target} PRIVATE -Wno-deprecated-declarations)
  endif()
  if(WEFT_WERROR)
    target_compile_options(${target} PRIVATE -Werror)
  endif()
  # What is installed names no folder of the machine that built it.
  target_compile_options(${target} PRIVATE "-fmacro-prefix-map=${PROJECT_SOURCE_DIR}/=")
  # Profilers and crash reports walk frames; leaf functions, which the data path consists of, need none.
  target_compile_options(${target} PRIVATE -fno-omit-frame-pointer)
  if(WEFT_HAS_OMIT_LEAF_FRAME_POINTER AND NOT WEFT_SANITIZE)
    target_compile_options(${target} PRIVATE -momit-leaf-frame-pointer)
  endif()
  # Options and spans that a caller has just stored by halves are not to be loaded as a whole: that waits until the stores
  # have left the core. And most virtual calls of the data path have many targets, of which no one is worth a guess.
  target_compile_options(${target} PRIVATE -fno-tree-slp-vectorize)
  if(WEFT_HAS_NO_SPECULATIVE_DEVIRTUALIZATION)
    target_compile_options(${target} PRIVATE -fno-devirtualize-speculatively)
  endif()
  set_target_properties(${target} PROPERTIES
    CXX_EXTENSIONS OFF
    POSITION_INDEPENDENT_CODE ON
    CXX_VISIBILITY_PRESET hidden
    VISIBILITY_INLINES_HIDDEN ON
    ARCHIVE_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/lib"
    LIBRARY_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/lib"
    RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/bin")
  weft_compile_together(${target} 8)
endfunction()

# weft_compile_together(<target> <most>): the files of one folder are compiled together, up to so many at a time, which takes a third
# of the time from nothing. So a name in an anonymous namespace is the only one of its kind in its folder. Every file compiles alone, too:
# -DWEFT_UNITY=OFF, and what clang warns of (./dev build --syntax-only).
function(weft_compile_together target most)
  get_target_property(type ${target} TYPE)
  if(NOT WEFT_UNITY OR type STREQUAL "INTERFACE_LIBRARY")
    return()
  endif()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")  # it takes files that are compiled together for headers
    target_compile_options(${target} PRIVATE -Wno-subobject-linkage)
  endif()
  get_target_property(sources ${target} SOURCES)
  list(FILTER sources INCLUDE REGEX "\\.cpp$")
  list(SORT sources)
  foreach(source IN LISTS sources)
    get_filename_component(folder "${source}" ABSOLUTE)
    get_filename_component(folder "${folder}" DIRECTORY)
    file(RELATIVE_PATH folder "${PROJECT_SOURCE_DIR}" "${folder}")
    string(MAKE_C_IDENTIFIER "${folder}" folder)
    if(NOT DEFINED count_${folder})
      set(count_${folder} 0)
    endif()
    math(EXPR batch "${count_${folder}} / ${most}")
    math(EXPR count_${folder} "${count_${folder}} + 1")
    set_source_files_properties("${source}" PROPERTIES UNITY_GROUP "${folder}_${batch}")
  endforeach()
endfunction()

# weft_compile_lightly(<target>): what nobody waits for: its command lines and reports take a third less time to compile so.
function(weft_compile_lightly target)
  target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-O1>)
endfunction()

# weft_precompile(<target> <headers>...): what most files of the target include, with these of the standard library, is
# compiled once, where no compiler cache serves better. Files include what they use all the same: they are compiled without
# it, too.
function(weft_precompile target)
  if(WEFT_PRECOMPILE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
    target_precompile_headers(${target} PRIVATE ${ARGN} <algorithm> <array> <atomic> <chrono> <cstring> <deque> <functional> <map>
      <memory> <mutex> <optional> <span> <string> <thread> <vector>)
  endif()
endfunction()

# weft_precompile_like(<target> <other>): by what has been precompiled for another target that is compiled alike.
function(weft_precompile_like target other)
  if(WEFT_PRECOMPILE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
    target_precompile_headers(${target} REUSE_FROM ${other})
  endif()
endfunction()

# weft_find(<package> <Debian package> <option that would switch the need off>)
macro(weft_find package debian_package option)
  find_package(${package} QUIET)
  if(NOT ${package}_FOUND)
    message(FATAL_ERROR "${package} was not found: install ${debian_package}, or configure with -D${option}=OFF")
  endif()
endmacro()

# weft_add_program(<program> <core library> <folder>): every source of the folder but main.cpp goes into the core library,
# which unit tests link; main.cpp becomes the program. Does nothing while the folder has no main.cpp.
function(weft_add_program target output_name core folder)
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS "${folder}/*.cpp")
  list(REMOVE_ITEM sources "${folder}/main.cpp")
  if(sources)
    add_library(${core} STATIC ${sources})
    weft_target_defaults(${core})
  else()
    add_library(${core} INTERFACE)
  endif()
  if(EXISTS "${folder}/main.cpp")
    weft_program(${target} ${output_name} ${core} "${folder}/main.cpp")
  endif()
endfunction()

# weft_program(<target> <output name> <core library> <main.cpp>): it finds the libraries that are installed with it.
function(weft_program target output_name core main)
  add_executable(${target} "${main}")
  weft_target_defaults(${target})
  file(RELATIVE_PATH to_libraries "/${CMAKE_INSTALL_BINDIR}" "/${CMAKE_INSTALL_LIBDIR}")
  set_target_properties(${target} PROPERTIES OUTPUT_NAME ${output_name} INSTALL_RPATH "$ORIGIN/${to_libraries}")
  target_link_libraries(${target} PRIVATE ${core})
endfunction()
