# nvcc for .cu files, and the toolkit's libraries, CUDA::cudart and so on.
set(CMAKE_CUDA_HOST_COMPILER ${CMAKE_CXX_COMPILER})
set(CMAKE_CUDA_COMPILER_LAUNCHER ${CMAKE_CXX_COMPILER_LAUNCHER})
# nvcc's own; this CMake knows no other of nvcc 13.
set(CMAKE_CUDA_STANDARD 17)
# Machine code for each generation that nvcc 13 knows, since code that the driver compiles depends on the
# driver; and for later ones what the driver can compile. (This CMake's own list names some that nvcc dropped.)
set(CMAKE_CUDA_ARCHITECTURES 75-real 80-real 86-real 90-real 100-real 120
    CACHE STRING "Generations of NVIDIA devices to build for")
enable_language(CUDA)
find_package(CUDAToolkit 13.0 REQUIRED)
