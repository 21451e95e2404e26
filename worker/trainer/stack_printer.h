#pragma once

namespace tandem::trainer {

// From now on kPrintStacksSignal prints the stack of each thread to stderr, and then kEndOfStacks; whatever
// the threads do, they go on with it. To be called once, before other threads are started. `program` is
// argv[0].
void InstallStackPrinter(const char* program);

}  // namespace tandem::trainer
