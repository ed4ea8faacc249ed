# Every examples/<name>.cpp is one program, example-<name>.

file(GLOB weft_examples CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/examples/*.cpp")
foreach(source IN LISTS weft_examples)
  get_filename_component(name "${source}" NAME_WE)
  add_executable(example-${name} "${source}")
  weft_target_defaults(example-${name})
  target_link_libraries(example-${name} PRIVATE weft::weft weft::parcel)
endforeach()
