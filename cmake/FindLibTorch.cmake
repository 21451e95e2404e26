# Imported target torch::cpu, and with the component CUDA torch::cuda, from the folder that `./dev setup`
# makes in the user's cache, or TANDEM_LIBTORCH.
# The wheel's own CMake package insists on CUDA, so it is not used.
file(STRINGS ${CMAKE_CURRENT_LIST_DIR}/wheels.lock _torch_line REGEX "^torch ")
string(REGEX REPLACE "^torch ([^ ]+) .*" "\\1" LibTorch_VERSION "${_torch_line}")
if(DEFINED ENV{XDG_CACHE_HOME})
  set(_cache $ENV{XDG_CACHE_HOME})
else()
  set(_cache $ENV{HOME}/.cache)
endif()
set(TANDEM_LIBTORCH ${_cache}/tandem/libtorch-${LibTorch_VERSION}
    CACHE PATH "Folder with LibTorch's include/ and lib/")

find_path(LibTorch_INCLUDE_DIR torch/csrc/api/include/torch/torch.h
          PATHS ${TANDEM_LIBTORCH}/include NO_DEFAULT_PATH)
find_library(LibTorch_CPU_LIBRARY torch_cpu PATHS ${TANDEM_LIBTORCH}/lib NO_DEFAULT_PATH)
find_library(LibTorch_C10_LIBRARY c10 PATHS ${TANDEM_LIBTORCH}/lib NO_DEFAULT_PATH)
find_library(LibTorch_CUDA_LIBRARY torch_cuda PATHS ${TANDEM_LIBTORCH}/lib NO_DEFAULT_PATH)
find_library(LibTorch_C10_CUDA_LIBRARY c10_cuda PATHS ${TANDEM_LIBTORCH}/lib NO_DEFAULT_PATH)
if(LibTorch_CUDA_LIBRARY AND LibTorch_C10_CUDA_LIBRARY)
  set(LibTorch_CUDA_FOUND TRUE)
endif()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(LibTorch HANDLE_COMPONENTS
  REQUIRED_VARS LibTorch_INCLUDE_DIR LibTorch_CPU_LIBRARY LibTorch_C10_LIBRARY
  VERSION_VAR LibTorch_VERSION
  REASON_FAILURE_MESSAGE "Run ./dev setup, or set TANDEM_LIBTORCH to the folder with include/ and lib/.")

if(LibTorch_FOUND AND NOT TARGET torch::cpu)
  add_library(torch::c10 SHARED IMPORTED)
  set_target_properties(torch::c10 PROPERTIES IMPORTED_LOCATION ${LibTorch_C10_LIBRARY})
  add_library(torch::cpu SHARED IMPORTED)
  set_target_properties(torch::cpu PROPERTIES
    IMPORTED_LOCATION ${LibTorch_CPU_LIBRARY}
    INTERFACE_INCLUDE_DIRECTORIES
      "${LibTorch_INCLUDE_DIR};${LibTorch_INCLUDE_DIR}/torch/csrc/api/include"
    INTERFACE_COMPILE_DEFINITIONS "USE_DISTRIBUTED;USE_C10D_GLOO"
    INTERFACE_LINK_LIBRARIES torch::c10)
endif()
if(LibTorch_CUDA_FOUND AND TARGET CUDA::cudart AND NOT TARGET torch::cuda)
  add_library(torch::c10_cuda SHARED IMPORTED)
  set_target_properties(torch::c10_cuda PROPERTIES
    IMPORTED_LOCATION ${LibTorch_C10_CUDA_LIBRARY}
    INTERFACE_LINK_LIBRARIES "torch::c10;CUDA::cudart")
  # Its operators register themselves: it is needed also by a program that calls none of its functions.
  add_library(torch::cuda SHARED IMPORTED)
  set_target_properties(torch::cuda PROPERTIES
    IMPORTED_LOCATION ${LibTorch_CUDA_LIBRARY}
    INTERFACE_LINK_OPTIONS LINKER:--no-as-needed
    INTERFACE_LINK_LIBRARIES "torch::cpu;torch::c10_cuda")
endif()
mark_as_advanced(LibTorch_INCLUDE_DIR LibTorch_CPU_LIBRARY LibTorch_C10_LIBRARY
                 LibTorch_CUDA_LIBRARY LibTorch_C10_CUDA_LIBRARY)
