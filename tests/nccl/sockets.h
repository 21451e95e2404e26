#pragma once

#include <cstddef>
#include <cstdint>

#include "common/file_descriptor.h"

// TCP over the loopback interface, for waits that another thread can end.
namespace tandem::stand_in {

// Ends what waits for anything else, for good. Thread-safe.
class Interrupt {
 public:
  Interrupt();
  void Raise();
  bool raised() const;
  int fd() const { return event_.get(); }  // readable once raised

 private:
  const FileDescriptor event_;
};

FileDescriptor Listen(uint16_t* port);
// Not valid: nobody listens there.
FileDescriptor ConnectTo(uint16_t port);
// Not valid: interrupted.
FileDescriptor Accept(const FileDescriptor& listener, const Interrupt& interrupt);

// Whether all was done: else interrupted, or the other end is gone.
bool Write(const FileDescriptor& socket, const void* data, size_t bytes,
           const Interrupt& interrupt);
bool Read(const FileDescriptor& socket, void* data, size_t bytes, const Interrupt& interrupt);

// As much as can be done without waiting; -1: the other end is gone.
ptrdiff_t WriteSome(int socket, const void* data, size_t bytes);
ptrdiff_t ReadSome(int socket, void* data, size_t bytes);

}  // namespace tandem::stand_in
