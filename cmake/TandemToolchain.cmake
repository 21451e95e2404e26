# Compiler cache, linker, warnings and sanitizers, the same for every target.

find_program(CCACHE ccache)
if(CCACHE)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CCACHE})
endif()

find_program(MOLD mold)
if(MOLD)
  add_link_options(-fuse-ld=mold)
endif()

set(TANDEM_SANITIZE "" CACHE STRING "Value of -fsanitize=, or empty")
if(TANDEM_SANITIZE)
  add_compile_options(-fsanitize=${TANDEM_SANITIZE} -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${TANDEM_SANITIZE})
endif()

# For our own code; generated code is compiled without.
add_library(tandem_warnings INTERFACE)
target_compile_options(tandem_warnings INTERFACE
  $<$<COMPILE_LANGUAGE:CXX>:-Wall;-Wextra;-Werror;-Wno-unused-parameter>
  $<$<COMPILE_LANGUAGE:CUDA>:-Werror=all-warnings;-Xcompiler=-Wall,-Wextra,-Werror>)
if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  target_compile_options(tandem_warnings INTERFACE -Wthread-safety)
endif()

# Debian's Abseil is not instrumented; this makes its locks known to ThreadSanitizer.
if(TANDEM_SANITIZE STREQUAL "thread")
  add_library(tandem_tsan OBJECT tests/tsan/absl_mutex.cc)
  target_compile_options(tandem_tsan PRIVATE -fno-sanitize=thread)
  target_sources(tandem_warnings INTERFACE
    $<$<STREQUAL:$<TARGET_PROPERTY:TYPE>,EXECUTABLE>:$<TARGET_OBJECTS:tandem_tsan>>)
endif()
