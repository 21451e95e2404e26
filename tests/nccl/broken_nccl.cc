// FOR TESTS ONLY: a library that calls itself NCCL, tells a version, and has no other function.

extern "C" int ncclGetVersion(int* version) {
  *version = STAND_IN_VERSION;
  return 0;
}
