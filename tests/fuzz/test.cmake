# Builds the library once more, and tries some thirty decoders for ten minutes each, two at a time.
set_tests_properties(${folder_python_tests} PROPERTIES TIMEOUT 21600 PROCESSORS 4)
